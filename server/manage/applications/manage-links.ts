import { sql, type Transaction } from 'kysely'
import { recordAudit } from '#access/audit/record.ts'
import type { Caller } from '#access/authorization/caller.ts'
import { can } from '#access/authorization/permissions.ts'
import { lockAgainstRuns } from '#manage/pipelines/remove-pipelines.ts'
import { LOCAL_ONLY } from '#model/pipelines/local-servers.ts'
import { type EnvironmentHeld, lockAround } from '#model/pipelines/lock-environment.ts'
import { anyOf, byId } from '#platform/database/any-of.ts'
import type { Tables } from '#platform/database/tables.ts'
import { conflict, FieldErrors, type HttpProblem, listNames } from '#platform/http/problems.ts'
import { findApplication } from './find-applications.ts'
import { type ChangeDeps, updateApplication } from './touch-application.ts'

export type LinkOutcome = { kind: 'done' } | HttpProblem

export type Pair = { applicationId: number; serverId: number }

/** Puts an application on a server, from the next run on. That it is there already is fine. */
export function link(
  trx: Transaction<Tables>,
  deps: ChangeDeps,
  caller: Caller,
  { applicationId, serverId }: Pair,
): Promise<LinkOutcome> {
  return changeLinks(trx, deps, caller, applicationId, serverId, (today) =>
    today.includes(serverId) ? today : [...today, serverId],
  )
}

/** Takes it off the server, from the next run on; what was deployed there stays. */
export function unlink(
  trx: Transaction<Tables>,
  deps: ChangeDeps,
  caller: Caller,
  { applicationId, serverId }: Pair,
): Promise<LinkOutcome> {
  return changeLinks(trx, deps, caller, applicationId, serverId, (today) =>
    today.filter((id) => id !== serverId),
  )
}

async function changeLinks(
  trx: Transaction<Tables>,
  { actor }: ChangeDeps,
  caller: Caller,
  applicationId: number,
  serverId: number,
  change: (today: number[]) => number[],
): Promise<LinkOutcome> {
  const place = await lockAround(trx, 'applications', applicationId)
  const stored = place && (await findApplication(trx, applicationId, { lock: true }))
  if (!place || !stored || !isPair(caller, place, await findServers(trx, place, [serverId])))
    return { kind: 'gone' }
  if (!can(caller, 'application:edit', place))
    return { kind: 'forbidden', reason: 'You need the permission application:edit here.' }
  const wanted = change(stored.server_ids)
  const today = stored.server_ids
  const refusal = await checkLinks(trx, caller, place, { applicationId, today, wanted })
  if (refusal) return refusal
  if (wanted.length === today.length) return { kind: 'done' }

  await storeLinks(trx, place, applicationId, wanted)
  await updateApplication(trx, applicationId)
  await recordAudit(trx, actor, {
    organizationId: place.organization_id,
    verb: wanted.length > today.length ? 'linked' : 'unlinked',
    subject: { type: 'application', id: applicationId, name: stored.name },
    before: { server_ids: today },
    after: { server_ids: wanted },
  })
  return { kind: 'done' }
}

/** To someone who may not see both, neither is there. */
function isPair(caller: Caller, place: EnvironmentHeld, servers: readonly unknown[]): boolean {
  return servers.length === 1 && can(caller, 'application:view', place) && can(caller, 'server:view', place)
}

/** `applicationId` is null for one that is about to be made. The environment must be locked. */
type LinksWish = { applicationId: number | null; today: readonly number[]; wanted: readonly number[] }

export async function checkLinks(
  trx: Transaction<Tables>,
  caller: Caller,
  place: EnvironmentHeld,
  { applicationId, today, wanted }: LinksWish,
): Promise<HttpProblem | undefined> {
  const added = wanted.filter((id) => !today.includes(id))
  const removed = today.filter((id) => !wanted.includes(id))
  if (added.length + removed.length === 0) return undefined
  const servers = byId(await findServers(trx, place, [...added, ...removed]))
  const unknown = new FieldErrors()
  wanted.forEach((id, index) => {
    if (added.includes(id) && !(servers.has(id) && can(caller, 'server:view', place)))
      unknown.add(`linked_resources.${index}.resource_id`, `${id} is not a server of this environment`)
  })
  if (unknown.any) return { kind: 'unknown', errors: unknown.found }
  if (added.length > 0 && !can(caller, 'server:run', place))
    return { kind: 'forbidden', reason: 'You need the permission server:run to deploy to a server.' }
  const isLocal = [...servers.values()].some(({ provider_code }) => provider_code === 'local')
  if (isLocal && !caller.is_instance_admin) return { kind: 'forbidden', reason: LOCAL_ONLY }
  return applicationId === null || removed.length === 0 ? undefined : refuseBusy(trx, applicationId, removed)
}

export async function storeLinks(
  trx: Transaction<Tables>,
  { environment_id }: EnvironmentHeld,
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

/** Held, so that nobody removes one that an application is just being linked to. */
function findServers(trx: Transaction<Tables>, { environment_id }: EnvironmentHeld, ids: readonly number[]) {
  return trx
    .selectFrom('servers')
    .select(['id', 'name', 'provider_code'])
    .where(anyOf('id', ids))
    .where('environment_id', '=', environment_id)
    .where('deleted_at', 'is', null)
    .forShare()
    .execute()
}

async function refuseBusy(
  trx: Transaction<Tables>,
  applicationId: number,
  serverIds: readonly number[],
): Promise<HttpProblem | undefined> {
  const pipelines = await trx
    .selectFrom('pipelines')
    .select('id')
    .where('application_id', '=', applicationId)
    .execute()
  const ids = pipelines.map(({ id }) => id)
  await lockAgainstRuns(trx, ids)
  const { rows } = await sql<{ name: string }>`
    select distinct s.name from actions a join targets t on t.action_id = a.id join servers s on s.id = t.server_id
    where a.pipeline_id = any(${ids}::bigint[]) and t.server_id = any(${serverIds}::bigint[])
      and a.status in ('pending', 'waiting', 'queued', 'in-progress')
    order by 1`.execute(trx)
  if (rows.length === 0) return undefined
  const names = rows.map(({ name }) => name)
  const busy = `unfinished runs use ${listNames('server', names)}`
  return conflict(`This cannot be unlinked now: ${busy}. Wait, or cancel first.`, {
    linked_resources: [busy],
  })
}
