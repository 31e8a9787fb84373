import { sql, type Transaction } from 'kysely'
import { createLogWriter, type LogChunk } from '#engine/step-logs/log-writer.ts'
import { endOfLog, storeChunk } from '#engine/step-logs/store-chunk.ts'
import type { Database } from '#platform/database/connect.ts'
import type { Tables } from '#platform/database/tables.ts'
import { JobReassignedError } from './faults.ts'
import { persist } from './persist.ts'

export type LogOwner = { targetId: number; stepOrder: number; attempt: number }
export type StepLog = ReturnType<typeof createLogWriter>

/** The log of a step, behind what earlier attempts have left in it. Fails once another attempt owns the target. */
export async function openStepLog(
  db: Database,
  owner: LogOwner,
  secrets: readonly string[],
  signal: AbortSignal,
): Promise<StepLog> {
  return createLogWriter({
    startOffset: owner.attempt === 1 ? 0 : await persist(() => endOfLog(db, owner), signal),
    secrets,
    store: (chunk) => persist(() => append(db, owner, chunk), signal),
  })
}

/** A line of Gantry's own, in the transaction of the move that it explains. */
export async function noteInLog(trx: Transaction<Tables>, owner: LogOwner, note: string): Promise<void> {
  const text = `${(await isLineOpen(trx, owner)) ? '\n' : ''}${note}\n`
  await append(trx, owner, { startOffset: await endOfLog(trx, owner), text, bytes: Buffer.byteLength(text) })
}

/** For a note that must not keep the move from being made. */
export async function noteIfPossible(trx: Transaction<Tables>, owner: LogOwner, note: string): Promise<void> {
  await sql`savepoint note`.execute(trx)
  try {
    await noteInLog(trx, owner, note)
  } catch {
    await sql`rollback to savepoint note`.execute(trx)
  }
}

/** A command that was broken off may have left half a line. */
async function isLineOpen(trx: Transaction<Tables>, { targetId, stepOrder }: LogOwner): Promise<boolean> {
  const last = await trx
    .selectFrom('step_log_chunks')
    .select('text')
    .where('target_id', '=', targetId)
    .where('step_order', '=', stepOrder)
    .orderBy('start_offset', 'desc')
    .limit(1)
    .executeTakeFirst()
  return last !== undefined && !last.text.endsWith('\n')
}

async function append(db: Database, owner: LogOwner, chunk: LogChunk): Promise<void> {
  const { kind } = await storeChunk(db, owner, chunk)
  if (kind === 'refused') throw new JobReassignedError('its log is not ours to write.')
}
