import { randomUUID } from 'node:crypto'
import { type Insertable, sql, type Transaction, type Updateable, type UpdateObject } from 'kysely'
import type { SecretBox } from '#crypto/secret-box.ts'
import { hashToken, newDeliverySecret, newHookSecret, newUrlToken } from '#crypto/tokens.ts'
import type { Database } from '#database/connect.ts'
import type { HooksTable, HookType, Tables } from '#database/tables.ts'
import type { ErrorsByField } from '#http/validation.ts'
import { checkIncoming, checkOutgoing } from './check-hook.ts'
import { incomingColumns, outgoingColumns } from './hook-columns.ts'
import { type HookRow, secretPlace, selectHooks, tokenPlace } from './present-hook.ts'
import type { IncomingHookBody, IncomingHookChange, OutgoingHookBody, OutgoingHookChange } from './schemas.ts'

export const MOST_HOOKS_PER_PIPELINE = 200

export type HookDeps = { db: Database; box: SecretBox }

export type NewHook =
  | { type: 'incoming'; body: IncomingHookBody }
  | { type: 'outgoing'; body: OutgoingHookBody }
export type HookChange =
  | { type: 'incoming'; body: IncomingHookChange }
  | { type: 'outgoing'; body: OutgoingHookChange }

/** `secret` is the text of a secret that was made by this very operation; it is shown now or never. */
export type HookOutcome =
  | { kind: 'done'; row: HookRow; secret?: string }
  | { kind: 'invalid'; errors: ErrorsByField }
  | { kind: 'full' }
  | { kind: 'gone' }
  | { kind: 'changed-meanwhile' }
  | { kind: 'unsigned' }

export function createHook(
  { db, box }: HookDeps,
  pipelineId: number,
  userId: number,
  wish: NewHook,
): Promise<HookOutcome> {
  return db.transaction().execute(async (trx): Promise<HookOutcome> => {
    // Locked, so that two creations at once cannot both take the last place.
    const pipeline = await trx
      .selectFrom('pipelines')
      .select(['id', 'environment_id', 'operation'])
      .where('id', '=', pipelineId)
      .forNoKeyUpdate()
      .executeTakeFirst()
    if (!pipeline) return { kind: 'gone' }
    const errors = faultsOf(wish, pipeline.operation)
    if (errors) return { kind: 'invalid', errors }
    if ((await countHooks(trx, pipelineId)) >= MOST_HOOKS_PER_PIPELINE) return { kind: 'full' }

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
        created_by: userId,
        edited_by: userId,
        secret: secret === undefined ? null : box.seal(secret, secretPlace(id)),
        url_token: token === undefined ? null : box.seal(token, tokenPlace(id)),
        url_token_hash: token === undefined ? null : hashToken(token),
        ...(columnsFor(wish) as Pick<Insertable<HooksTable>, 'type' | 'name' | 'settings' | 'trigger_when'>),
      })
      .execute()
    return { kind: 'done', row: await readLocked(trx, wish.type, id), secret }
  })
}

/** `ifMatch` is the row version that the caller last saw, when they said so. */
export function changeHook(
  { db, box }: HookDeps,
  id: string,
  userId: number,
  wish: HookChange,
  ifMatch?: string,
): Promise<HookOutcome> {
  return db.transaction().execute(async (trx): Promise<HookOutcome> => {
    const row = await findHook(trx, wish.type, id, { lock: true })
    if (!row) return { kind: 'gone' }
    if (ifMatch !== undefined && ifMatch !== row.row_version) return { kind: 'changed-meanwhile' }
    const errors = faultsOf(wish, row.operation)
    if (errors) return { kind: 'invalid', errors }
    const made = laterSecret(wish, row)
    const given = wish.type === 'incoming' ? wish.body.secret : undefined
    const secret = given ?? made
    await updateHook(trx, id, userId, {
      ...columnsFor(wish, row),
      ...(secret !== undefined && {
        secret: box.seal(secret, secretPlace(id)),
        previous_secret: null,
        previous_secret_until: null,
      }),
    })
    return { kind: 'done', row: await readLocked(trx, wish.type, id), secret: made }
  })
}

/** Makes a new secret; the old one stays valid for a while, so that the other side can follow in peace. */
export function rotateSecret(
  { db, box }: HookDeps,
  type: HookType,
  id: string,
  userId: number,
  overlapSeconds: number,
): Promise<HookOutcome> {
  return db.transaction().execute(async (trx): Promise<HookOutcome> => {
    const row = await findHook(trx, type, id, { lock: true })
    if (!row) return { kind: 'gone' }
    if (row.secret === null) return { kind: 'unsigned' }
    const secret = type === 'incoming' ? newHookSecret() : newDeliverySecret()
    const keeps = overlapSeconds > 0
    await updateHook(trx, id, userId, {
      secret: box.seal(secret, secretPlace(id)),
      previous_secret: keeps ? row.secret : null,
      previous_secret_until: keeps ? sql<string>`now() + ${overlapSeconds}::int * interval '1 second'` : null,
    })
    return { kind: 'done', row: await readLocked(trx, type, id), secret }
  })
}

/** The row stays, without its secrets: calls and runs of the past name it. */
export async function removeHook(db: Database, type: HookType, id: string): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('hooks')
    .set({
      active: false,
      url_token: null,
      url_token_hash: null,
      secret: null,
      previous_secret: null,
      previous_secret_until: null,
      deleted_at: sql<string>`now()`,
      updated_at: sql<string>`now()`,
    })
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
  userId: number,
  columns: UpdateObject<Tables, 'hooks'>,
): Promise<void> {
  await trx
    .updateTable('hooks')
    .set({ ...columns, edited_by: userId, updated_at: sql<string>`now()` })
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

function faultsOf(wish: NewHook | HookChange, operation: string): ErrorsByField | undefined {
  const errors =
    wish.type === 'incoming' ? checkIncoming(wish.body, operation) : checkOutgoing(wish.body, operation)
  return Object.keys(errors).length > 0 ? errors : undefined
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
