import { sql } from 'kysely'
import { ACTIONS_CHANNEL } from '#model/actions/channel.ts'
import type { Database } from '#platform/database/connect.ts'
import type { LogChunk } from './log-writer.ts'
import type { RawPosition } from './raw-positions.ts'

export type LogOwner = { targetId: number; stepOrder: number; attempt: number }

/** `refused`: another attempt owns the target, and this one may not write its log any more. */
type StoreOutcome = { kind: 'stored' } | { kind: 'refused' }

/**
 * Stores a chunk and notifies watchers, in one statement. The target is locked against a new attempt meanwhile: a
 * chunk is stored before the next attempt looks for the end of the log, or not at all. Storing the same chunk
 * again, because the first result was lost, does nothing. What is no longer kept of the log goes with it.
 *
 * So never wait for a log inside a transaction that has changed its target: close the log before.
 */
export async function storeChunk(db: Database, log: LogOwner, chunk: LogChunk): Promise<StoreOutcome> {
  const { targetId, stepOrder, attempt } = log
  const { startOffset, text, bytes, raw, omit = { from: 0, upTo: 0 } } = chunk
  const { rows } = await sql<{ owned: number; added: number }>`
    with owned as (
      select id, action_id from targets where id = ${targetId} and attempt = ${attempt} for share
    ), added as (
      insert into step_log_chunks (target_id, step_order, start_offset, attempt, text, bytes, raw_offset, raw_skip)
      select id, ${stepOrder}::integer, ${startOffset}::bigint, ${attempt}::integer, ${text}, ${bytes}::integer,
        ${raw?.offset ?? null}::bigint, ${raw?.skip ?? null}::bigint
      from owned
      on conflict do nothing
      returning target_id
    ), omitted as (
      delete from step_log_chunks c using owned
      where c.target_id = owned.id and c.step_order = ${stepOrder}::integer and c.start_offset >= ${omit.from}::bigint
        and c.start_offset < ${omit.upTo}::bigint and c.start_offset + c.bytes <= ${omit.upTo}::bigint
    ), notified as (
      select pg_notify(${ACTIONS_CHANNEL}, concat_ws(' ', 'log', owned.action_id, owned.id,
        ${stepOrder}::integer, ${startOffset + bytes}::bigint))
      from owned join added on added.target_id = owned.id
    )
    select (select count(*) from owned) as owned, (select count(*) from added) as added,
      (select count(*) from notified) as notified`.execute(db)
  const { owned, added } = rows[0]!
  if (owned === 0) return { kind: 'refused' }
  if (added === 0) await assertStored(db, log, chunk)
  return { kind: 'stored' }
}

async function assertStored(db: Database, log: LogOwner, { startOffset, text }: LogChunk): Promise<void> {
  const stored = await chunksOf(db, log)
    .select(['attempt', 'text'])
    .where('start_offset', '=', startOffset)
    .executeTakeFirst()
  if (stored?.attempt !== log.attempt || stored.text !== text)
    throw new Error(`Step ${log.stepOrder} of target ${log.targetId} has another chunk at ${startOffset}`)
}

/** Where the next attempt continues; call it once the target belongs to that. An interrupted command may leave half a line. */
export async function endOfLog(
  db: Database,
  log: Omit<LogOwner, 'attempt'>,
): Promise<{ offset: number; isLineOpen: boolean }> {
  const last = await chunksOf(db, log)
    .select(sql<number>`start_offset + bytes`.as('offset'))
    .select(sql<boolean>`right(text, 1) <> ${'\n'}`.as('isLineOpen'))
    .orderBy('start_offset', 'desc')
    .limit(1)
    .executeTakeFirst()
  return last ?? { offset: 0, isLineOpen: false }
}

/** Where the output that begins at `from` continues behind what is stored of it. */
export async function endOfOutput(
  db: Database,
  log: Omit<LogOwner, 'attempt'>,
  from: number,
): Promise<RawPosition> {
  const last = await chunksOf(db, log)
    .select(['raw_offset', 'raw_skip'])
    .where('start_offset', '>=', from)
    .where('raw_offset', 'is not', null)
    .orderBy('start_offset', 'desc')
    .limit(1)
    .executeTakeFirst()
  return { offset: last?.raw_offset ?? 0, skip: last?.raw_skip ?? 0 }
}

function chunksOf(db: Database, { targetId, stepOrder }: Omit<LogOwner, 'attempt'>) {
  return db
    .selectFrom('step_log_chunks')
    .where('target_id', '=', targetId)
    .where('step_order', '=', stepOrder)
}
