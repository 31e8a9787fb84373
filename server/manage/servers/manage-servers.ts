import { sql, type Transaction } from 'kysely'
import { type Actor, recordAudit } from '#access/audit/record.ts'
import type { Caller } from '#access/authorization/caller.ts'
import { authorizeUse } from '#manage/credentials/authorize-use.ts'
import { isNameTaken } from '#model/inventory/names.ts'
import { type EnvironmentHeld, lockAround, lockEnvironment } from '#model/pipelines/lock-environment.ts'
import type { Tables } from '#platform/database/tables.ts'
import { isOutdated } from '#platform/http/if-match.ts'
import type { HttpProblem } from '#platform/http/problems.ts'
import type { ErrorsByField } from '#platform/http/validation.ts'
import { type ServerColumns, type Settled, settleChange, settleNew, usesKeyAnew } from './check-server.ts'
import { findServer, type ServerRow } from './find-servers.ts'
import type { ServerBody, ServerChange } from './schemas.ts'

export type ServerDeps = { actor: Actor }

export type ServerOutcome = { kind: 'done'; row: ServerRow } | HttpProblem

export async function createServer(
  trx: Transaction<Tables>,
  { actor }: ServerDeps,
  caller: Caller,
  environmentId: number,
  wish: ServerBody,
): Promise<ServerOutcome> {
  const held = await lockEnvironment(trx, environmentId)
  if (!held) return { kind: 'gone' }
  const settled = settleNew(wish)
  const refusal = await refuse(trx, caller, held, settled, undefined)
  if (refusal) return refusal
  const { id } = await trx
    .insertInto('servers')
    .values({ environment_id: environmentId, created_by: caller.id, ...settled.columns })
    .returning('id')
    .executeTakeFirstOrThrow()
  const row = (await findServer(trx, id))!
  await recordAudit(trx, actor, {
    organizationId: held.organization_id,
    verb: 'created',
    subject: subjectOf(row),
    before: null,
    after: audited(row),
  })
  return { kind: 'done', row }
}

/** `ifMatch` is the row version that the caller last saw, when they said so. */
export async function changeServer(
  trx: Transaction<Tables>,
  { actor }: ServerDeps,
  caller: Caller,
  id: number,
  wish: ServerChange,
  ifMatch?: string,
): Promise<ServerOutcome> {
  const held = await lockAround(trx, 'servers', id)
  const before = held && (await findServer(trx, id, { lock: true }))
  if (!held || !before) return { kind: 'gone' }
  if (isOutdated(ifMatch, before.row_version)) return { kind: 'changed-meanwhile' }
  const settled = settleChange(wish, before)
  const refusal = await refuse(trx, caller, held, settled, before)
  if (refusal) return refusal
  await trx
    .updateTable('servers')
    .set({ ...settled.columns, updated_at: sql<string>`now()` })
    .where('id', '=', id)
    .execute()
  const row = (await findServer(trx, id))!
  await recordAudit(trx, actor, {
    organizationId: held.organization_id,
    verb: 'changed',
    subject: subjectOf(row),
    before: audited(before),
    after: audited(row),
  })
  return { kind: 'done', row }
}

/** What the caller may not see or do comes first, then everything that is wrong with the wish. */
async function refuse(
  trx: Transaction<Tables>,
  caller: Caller,
  held: EnvironmentHeld,
  { columns, errors }: Settled,
  stored: ServerRow | undefined,
): Promise<HttpProblem | undefined> {
  if (columns.provider_code === 'local' && !caller.is_instance_admin) {
    return { kind: 'forbidden', reason: 'Only administrators of this installation set up local servers.' }
  }
  const faults: ErrorsByField = { ...errors }
  if (usesKeyAnew(columns, stored)) {
    const use = await authorizeUse(trx, caller, held.organization_id, columns.credential_id!)
    if (use.kind === 'invalid') Object.assign(faults, use.errors)
    else if (use.kind !== 'usable') return use
    else if (use.credential.provider_code !== 'ssh') faults.credential_id = ['must be an SSH key']
  }
  if (
    columns.name !== stored?.name &&
    (await isNameTaken(trx, 'servers', held.environment_id, columns.name, stored?.id))
  ) {
    faults.name = ['is the name of another server of this environment']
  }
  return Object.keys(faults).length > 0 ? { kind: 'invalid', errors: faults } : undefined
}

export function subjectOf({ id, name }: ServerRow) {
  return { type: 'server', id, name }
}

/** What the audit keeps of a server; nothing of it is secret. */
export function audited(row: ServerRow): ServerColumns {
  const { name, provider_code, host, port, login_name, credential_id, host_key } = row
  const { root_directory, max_parallel_actions } = row
  return {
    name,
    provider_code,
    host,
    port,
    login_name,
    credential_id,
    host_key,
    root_directory,
    max_parallel_actions,
  }
}
