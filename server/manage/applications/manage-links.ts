import { sql } from 'kysely'
import { type Requester, recordAudit } from '#access/audit/record.ts'
import type { Caller } from '#access/authorization/caller.ts'
import { can } from '#access/authorization/permissions.ts'
import { lockAgainstRuns, pipelinesOf } from '#manage/pipelines/remove-pipelines.ts'
import { LOCAL_ONLY } from '#model/inventory/local-servers.ts'
import { type LockedEnvironment, lockForChange } from '#model/pipelines/lock-environment.ts'
import { byId } from '#platform/database/any-of.ts'
import type { Transaction } from '#platform/database/connect.ts'
import { findRows, updateRow } from '#platform/database/rows.ts'
import { conflict, FieldErrors, GONE, type HttpProblem, listNames } from '#platform/http/problems.ts'
import { findApplication } from './read-applications.ts'

export type Pair = { applicationId: number; serverId: number }

/**
 * Links (or unlinks) an application and a server, from the next run on. Linking twice changes nothing; what was
 * deployed to an unlinked server stays there.
 */
export async function setLink(
  trx: Transaction,
  by: Requester,
  { applicationId, serverId }: Pair,
  isLinked: boolean,
) {
  const held = await lockForChange(trx, 'applications', applicationId, findApplication)
  if (held.kind !== 'locked') return held
  const { scope, row } = held
  // To a caller who may not see both, neither exists.
  const isVisible = can(by.caller, 'application:view', scope) && can(by.caller, 'server:view', scope)
  const [server] = await findServers(trx, scope, [serverId])
  if (!isVisible || !server) return GONE
  if (!can(by.caller, 'application:edit', scope))
    return { kind: 'forbidden', reason: 'You need the permission application:edit here.' }
  const current = row.server_ids
  if (current.includes(serverId) === isLinked) return DONE
  const wanted = isLinked ? [...current, serverId] : current.filter((id) => id !== serverId)
  const problem = await checkLinks(trx, by.caller, scope, { applicationId, current, wanted })
  if (problem) return problem

  await storeLinks(trx, scope, applicationId, wanted)
  // The links are part of the application's record, so its version changes too.
  await updateRow(trx, 'applications', applicationId)
  await recordAudit(trx, by.actor, {
    organizationId: scope.organization_id,
    verb: isLinked ? 'linked' : 'unlinked',
    subject: { type: 'application', id: applicationId, name: row.name },
    before: { server_ids: current },
    after: { server_ids: wanted },
  })
  return DONE
}

const DONE = { kind: 'done' } as const

/** `applicationId` is null for a new application. The environment must be locked. */
type LinksInput = { applicationId: number | null; current: readonly number[]; wanted: readonly number[] }

export async function checkLinks(
  trx: Transaction,
  caller: Caller,
  scope: LockedEnvironment,
  { applicationId, current, wanted }: LinksInput,
): Promise<HttpProblem | undefined> {
  const added = wanted.filter((id) => !current.includes(id))
  const removed = current.filter((id) => !wanted.includes(id))
  if (added.length + removed.length === 0) return undefined
  const servers = byId(await findServers(trx, scope, [...added, ...removed]))
  const unknown = new FieldErrors()
  wanted.forEach((id, index) => {
    if (added.includes(id) && !(servers.has(id) && can(caller, 'server:view', scope)))
      unknown.add(`linked_resources.${index}.resource_id`, `${id} is not a server of this environment`)
  })
  if (unknown.any) return { kind: 'unknown', errors: unknown.found }
  if (added.length > 0 && !can(caller, 'server:run', scope))
    return { kind: 'forbidden', reason: 'You need the permission server:run to deploy to a server.' }
  const isLocal = [...servers.values()].some(({ provider_code }) => provider_code === 'local')
  if (isLocal && !caller.is_instance_admin) return { kind: 'forbidden', reason: LOCAL_ONLY }
  return applicationId === null || removed.length === 0 ? undefined : checkIdle(trx, applicationId, removed)
}

export async function storeLinks(
  trx: Transaction,
  { environment_id }: LockedEnvironment,
  applicationId: number,
  wanted: readonly number[],
): Promise<void> {
  await sql`
    delete from application_servers
    where application_id = ${applicationId} and server_id <> all(${wanted}::bigint[])`.execute(trx)
  await sql`
    insert into application_servers (application_id, server_id, environment_id)
    select ${applicationId}::bigint, id, ${environment_id}::bigint from unnest(${wanted}::bigint[]) as wanted (id)
    on conflict do nothing`.execute(trx)
}

/** Locked, so that nobody removes a server while an application is being linked to it. */
function findServers(trx: Transaction, { environment_id }: LockedEnvironment, ids: readonly number[]) {
  const inEnvironment = { id: ids, environment_id, deleted_at: null }
  return findRows(trx, 'servers', inEnvironment, ['id', 'name', 'provider_code'], { lock: 'for share' })
}

/** That no unfinished run of the application uses these servers. */
async function checkIdle(trx: Transaction, applicationId: number, serverIds: readonly number[]) {
  const ids = (await pipelinesOf(trx, 'application_id', [applicationId])).map(({ id }) => id)
  await lockAgainstRuns(trx, ids)
  const { rows } = await sql<{ name: string }>`
    select distinct s.name from actions a join targets t on t.action_id = a.id join servers s on s.id = t.server_id
    where a.pipeline_id = any(${ids}::bigint[]) and t.server_id = any(${serverIds}::bigint[])
      and a.status in ('pending', 'waiting', 'queued', 'in-progress')
    order by 1`.execute(trx)
  if (rows.length === 0) return undefined
  const names = rows.map(({ name }) => name)
  const busy = `unfinished runs use ${listNames('server', names)}`
  return conflict(`Cannot be unlinked now: ${busy}. Wait, or cancel first.`, { linked_resources: [busy] })
}
