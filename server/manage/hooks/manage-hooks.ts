import { randomUUID } from 'node:crypto'
import { type Insertable, sql, type Transaction, type Updateable, type UpdateObject } from 'kysely'
import type { Actor } from '#access/audit/record.ts'
import type { Caller } from '#access/authorization/caller.ts'
import { type HookRow, hookSecretAad, selectHooks, urlTokenAad } from '#model/hooks/present-hook.ts'
import { REMOVED_HOOK } from '#model/hooks/removed-hook.ts'
import type {
  IncomingHookBody,
  IncomingHookChange,
  OutgoingHookBody,
  OutgoingHookChange,
} from '#model/hooks/schemas.ts'
import type { SecretBox } from '#platform/crypto/secret-box.ts'
import { hashToken, newDeliverySecret, newHookSecret, newUrlToken } from '#platform/crypto/tokens.ts'
import type { Database } from '#platform/database/connect.ts'
import type { HooksTable, HookType, Tables } from '#platform/database/tables.ts'
import { isOutdated } from '#platform/http/if-match.ts'
import { conflict, type HttpProblem } from '#platform/http/problems.ts'
import type { ErrorsByField } from '#platform/http/validation.ts'
import { auditHook } from './audit-hook.ts'
import { checkIncoming, checkOutgoing } from './check-hook.ts'
import { checkRequest, type RequestVerdict } from './check-request.ts'
import { forgetHealthWhenMoved } from './forget-health.ts'
import { incomingColumns, outgoingColumns, requestOf } from './hook-columns.ts'

export const MOST_HOOKS_PER_PIPELINE = 200

export type NewHook =
  | { type: 'incoming'; body: IncomingHookBody }
  | { type: 'outgoing'; body: OutgoingHookBody }
export type HookChange =
  | { type: 'incoming'; body: IncomingHookChange }
  | { type: 'outgoing'; body: OutgoingHookChange }

/** `secret` is the text of a secret that was made by this very operation; it is shown now or never. */
export type HookOutcome =
  /** `wasOffSince`: an outgoing hook that this very operation switched on again. */
  { kind: 'done'; row: HookRow; secret?: string; wasOffSince?: string } | HttpProblem

/** `receiver`: what `checkReceiver` said about the address, which takes too long to ask inside a transaction. */
export type HookDeps = { box: SecretBox; actor: Actor; receiver: ErrorsByField | undefined }

export async function createHook(
  trx: Transaction<Tables>,
  { box, receiver, actor }: HookDeps,
  pipelineId: number,
  caller: Caller,
  wish: NewHook,
): Promise<HookOutcome> {
  // Locked, so that two creations at once cannot both take the last place.
  const pipeline = await trx
    .selectFrom('pipelines')
    .select(['id', 'environment_id', 'operation'])
    .where('id', '=', pipelineId)
    .where('deleted_at', 'is', null)
    .forNoKeyUpdate()
    .executeTakeFirst()
  if (!pipeline) return { kind: 'gone' }
  const request = wish.type === 'outgoing' ? requestOf(wish.body) : undefined
  const verdict = request && (await checkRequest(trx, caller, pipelineId, request))
  if (verdict?.kind === 'forbidden') return verdict
  const errors = allFaults(faultsOf(wish, pipeline.operation), receiver, faultsIn(verdict))
  if (errors) return { kind: 'invalid', errors }
  if ((await countHooks(trx, pipelineId)) >= MOST_HOOKS_PER_PIPELINE)
    return conflict(`A pipeline can have ${MOST_HOOKS_PER_PIPELINE} hooks; remove one first.`)

  const id = randomUUID()
  const secret = firstSecret(wish)
  const token = wish.type === 'incoming' ? newUrlToken() : undefined
  await trx
    .insertInto('hooks')
    .values({
      id,
      pipeline_id: pipeline.id,
      environment_id: pipeline.environment_id,
      action_type: pipeline.operation,
      created_by: caller.id,
      edited_by: caller.id,
      secret: secret === undefined ? null : box.seal(secret, hookSecretAad(id)),
      url_token: token === undefined ? null : box.seal(token, urlTokenAad(id)),
      url_token_hash: token === undefined ? null : hashToken(token),
      ...(columnsFor(wish) as Pick<Insertable<HooksTable>, 'type' | 'name' | 'settings' | 'trigger_when'>),
    })
    .execute()
  const row = await readLocked(trx, wish.type, id)
  await auditHook(trx, actor, 'created', null, row)
  return { kind: 'done', row, secret }
}

/** `ifMatch` is the row version that the caller last saw, when they said so. */
export async function changeHook(
  trx: Transaction<Tables>,
  { box, receiver, actor }: HookDeps,
  id: string,
  caller: Caller,
  wish: HookChange,
  ifMatch?: string,
): Promise<HookOutcome> {
  const row = await findHook(trx, wish.type, id, { lock: true })
  if (!row) return { kind: 'gone' }
  if (isOutdated(ifMatch, row.row_version)) return { kind: 'changed-meanwhile' }
  // Whoever only switches a hook off sends nothing, and does not become the one in whose name it sends.
  const onlyOff = isOnlySwitchingOff(wish)
  const request = wish.type === 'outgoing' && !onlyOff ? requestOf(wish.body, row) : undefined
  const verdict = request && (await checkRequest(trx, caller, row.pipeline_id, request))
  if (verdict?.kind === 'forbidden') return verdict
  // Templates that were fine when they were saved must not keep anybody from switching the hook off.
  const templates = setsRequest(wish) ? faultsIn(verdict) : undefined
  const errors = allFaults(faultsOf(wish, row.operation), receiver, templates)
  if (errors) return { kind: 'invalid', errors }
  const made = laterSecret(wish, row)
  const given = wish.type === 'incoming' ? wish.body.secret : undefined
  const secret = given ?? made
  await updateHook(trx, id, {
    ...columnsFor(wish, row),
    ...(!onlyOff && { edited_by: caller.id }),
    ...(secret !== undefined && {
      secret: box.seal(secret, hookSecretAad(id)),
      previous_secret: null,
      previous_secret_until: null,
    }),
  })
  if (wish.type === 'outgoing') await forgetHealthWhenMoved(trx, row, wish.body.target_url)
  const isBack = wish.type === 'outgoing' && wish.body.active === true
  const wasOffSince = isBack ? (row.off_since ?? undefined) : undefined
  const changed = await readLocked(trx, wish.type, id)
  await auditHook(trx, actor, 'changed', row, changed)
  return { kind: 'done', row: changed, secret: made, wasOffSince }
}

/**
 * Makes a new secret; the old one stays valid for a while, so that the other side can follow in peace. What the
 * hook sends stays the same, and so does the person in whose name it does.
 */
export async function rotateSecret(
  trx: Transaction<Tables>,
  { box, actor }: Pick<HookDeps, 'box' | 'actor'>,
  type: HookType,
  id: string,
  overlapSeconds: number,
): Promise<HookOutcome> {
  const row = await findHook(trx, type, id, { lock: true })
  if (!row) return { kind: 'gone' }
  if (row.secret === null) return conflict('This hook has no secret: set requires_secret to true first.')
  const secret = type === 'incoming' ? newHookSecret() : newDeliverySecret()
  const keeps = overlapSeconds > 0
  await updateHook(trx, id, {
    secret: box.seal(secret, hookSecretAad(id)),
    previous_secret: keeps ? row.secret : null,
    previous_secret_until: keeps ? sql<string>`now() + ${overlapSeconds}::int * interval '1 second'` : null,
  })
  const rotated = await readLocked(trx, type, id)
  await auditHook(trx, actor, 'secret rotated', row, rotated)
  return { kind: 'done', row: rotated, secret }
}

export async function removeHookOf(
  trx: Transaction<Tables>,
  { actor }: Pick<HookDeps, 'actor'>,
  type: HookType,
  id: string,
  ifMatch?: string,
): Promise<{ kind: 'removed' } | HttpProblem> {
  const row = await findHook(trx, type, id, { lock: true })
  if (!row) return { kind: 'gone' }
  if (isOutdated(ifMatch, row.row_version)) return { kind: 'changed-meanwhile' }
  await removeHook(trx, type, id)
  await auditHook(trx, actor, 'removed', row, null)
  return { kind: 'removed' }
}

export async function removeHook(db: Database, type: HookType, id: string): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('hooks')
    .set(REMOVED_HOOK)
    .where('id', '=', id)
    .where('type', '=', type)
    .where('deleted_at', 'is', null)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

export async function findHook(
  db: Database,
  type: HookType,
  id: string,
  options: { lock?: boolean } = {},
): Promise<HookRow | undefined> {
  const query = selectHooks(db).where('hooks.id', '=', id).where('hooks.type', '=', type)
  return (options.lock ? query.forUpdate('hooks') : query).executeTakeFirst()
}

async function readLocked(trx: Transaction<Tables>, type: HookType, id: string): Promise<HookRow> {
  return (await findHook(trx, type, id))!
}

async function updateHook(
  trx: Transaction<Tables>,
  id: string,
  columns: UpdateObject<Tables, 'hooks'>,
): Promise<void> {
  await trx
    .updateTable('hooks')
    .set({ ...columns, updated_at: sql<string>`now()` })
    .where('id', '=', id)
    .execute()
}

async function countHooks(trx: Transaction<Tables>, pipelineId: number): Promise<number> {
  const { count } = await trx
    .selectFrom('hooks')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('pipeline_id', '=', pipelineId)
    .where('deleted_at', 'is', null)
    .executeTakeFirstOrThrow()
  return count
}

function faultsOf(wish: NewHook | HookChange, operation: string): ErrorsByField {
  return wish.type === 'incoming' ? checkIncoming(wish.body, operation) : checkOutgoing(wish.body, operation)
}

function faultsIn(verdict: RequestVerdict | undefined): ErrorsByField | undefined {
  return verdict?.kind === 'invalid' ? verdict.errors : undefined
}

function allFaults(...parts: (ErrorsByField | undefined)[]): ErrorsByField | undefined {
  const errors: ErrorsByField = {}
  for (const [field, messages] of parts.flatMap((part) => Object.entries(part ?? {})))
    errors[field] = [...(errors[field] ?? []), ...messages]
  return Object.keys(errors).length > 0 ? errors : undefined
}

function setsRequest(wish: HookChange): boolean {
  return wish.type === 'outgoing' && (wish.body.target_url ?? wish.body.settings) !== undefined
}

function isOnlySwitchingOff(wish: HookChange): boolean {
  return wish.body.active === false && Object.keys(wish.body).length === 1
}

function columnsFor(wish: NewHook | HookChange, stored?: HookRow): Updateable<HooksTable> {
  return wish.type === 'incoming' ? incomingColumns(wish.body, stored) : outgoingColumns(wish.body, stored)
}

function firstSecret(wish: NewHook): string | undefined {
  if (wish.type === 'outgoing') return newDeliverySecret()
  return wish.body.requires_secret ? (wish.body.secret ?? newHookSecret()) : wish.body.secret
}

/** A hook that is made to require a secret, and has none, gets one. */
function laterSecret(wish: HookChange, row: HookRow): string | undefined {
  const needs = wish.type === 'incoming' && wish.body.requires_secret && wish.body.secret === undefined
  return needs && row.secret === null ? newHookSecret() : undefined
}
