import { sql } from 'kysely'
import { ACTIONS_CHANNEL } from '#model/actions/channel.ts'
import type { Database } from '#platform/database/connect.ts'
import type { LogChunk } from './log-writer.ts'

export type StoredLog = { targetId: number; stepOrder: number; attempt: number }

/** `refused`: another attempt works on the target, and the log is no longer this one's to write. */
export type StoreOutcome = { kind: 'stored' } | { kind: 'refused' }

/**
 * Stores a chunk and tells those who watch, in one statement. The target is locked against a take-over for as
 * long: a chunk is stored before the next attempt looks for the end of the log, or not at all. Storing the same
 * chunk again, as one does when the answer to the first time was lost, does nothing.
 *
 * So a log must not be waited for inside of a transaction that has changed its target: close it before.
 */
export async function storeChunk(db: Database, log: StoredLog, chunk: LogChunk): Promise<StoreOutcome> {
  const { targetId, stepOrder, attempt } = log
  const { startOffset, text, bytes } = chunk
  const { rows } = await sql<{ owned: number; added: number }>`
    with owned as (
      select id, action_id from targets where id = ${targetId} and attempt = ${attempt} for share
    ), added as (
      insert into step_log_chunks (target_id, step_order, start_offset, attempt, text, bytes)
      select id, ${stepOrder}::integer, ${startOffset}::bigint, ${attempt}::integer, ${text}, ${bytes}::integer
      from owned
      on conflict do nothing
      returning target_id
    ), told as (
      select pg_notify(${ACTIONS_CHANNEL}, concat_ws(' ', 'log', owned.action_id, owned.id,
        ${stepOrder}::integer, ${startOffset + bytes}::bigint))
      from owned join added on added.target_id = owned.id
    )
    select (select count(*) from owned) as owned, (select count(*) from added) as added,
      (select count(*) from told) as told`.execute(db)
  const { owned, added } = rows[0]!
  if (owned === 0) return { kind: 'refused' }
  if (added === 0) await assertStored(db, log, chunk)
  return { kind: 'stored' }
}

async function assertStored(db: Database, log: StoredLog, { startOffset, text }: LogChunk): Promise<void> {
  const stored = await chunksOf(db, log)
    .select(['attempt', 'text'])
    .where('start_offset', '=', startOffset)
    .executeTakeFirst()
  if (stored?.attempt !== log.attempt || stored.text !== text) {
    throw new Error(
      `Another chunk begins at ${startOffset} in step ${log.stepOrder} of target ${log.targetId}`,
    )
  }
}

/** Where the next attempt goes on. To be asked once the target belongs to it. */
export async function endOfLog(db: Database, log: Omit<StoredLog, 'attempt'>): Promise<number> {
  const last = await chunksOf(db, log)
    .select(['start_offset', 'bytes'])
    .orderBy('start_offset', 'desc')
    .limit(1)
    .executeTakeFirst()
  return last ? last.start_offset + last.bytes : 0
}

function chunksOf(db: Database, { targetId, stepOrder }: Omit<StoredLog, 'attempt'>) {
  return db
    .selectFrom('step_log_chunks')
    .where('target_id', '=', targetId)
    .where('step_order', '=', stepOrder)
}
