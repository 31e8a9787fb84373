import { sql } from 'kysely'
import { JobReassignedError } from '#engine/scheduling/move-steps.ts'
import { createLogWriter, type LogChunk } from '#engine/step-logs/log-writer.ts'
import { endOfLog, type LogOwner, storeChunk } from '#engine/step-logs/store-chunk.ts'
import type { Database, Transaction } from '#platform/database/connect.ts'
import { retryOutage } from '#platform/database/outages.ts'
import type { Masker } from '#platform/masking/mask-stream.ts'

export type StepLog = ReturnType<typeof createLogWriter>

/**
 * The log of a step, behind what it has already: output of earlier attempts, or a note. Fails once another attempt owns the
 * target.
 */
export async function openStepLog(
  db: Database,
  owner: LogOwner,
  newMasker: () => Masker,
  signal: AbortSignal,
  { isEmpty }: { isEmpty: boolean },
): Promise<StepLog> {
  const end = isEmpty ? NOTHING : await retryOutage(() => endOfLog(db, owner), signal)
  return createLogWriter({
    startOffset: end.offset,
    isLineOpen: end.isLineOpen,
    newMasker,
    store: (chunk) => retryOutage(() => append(db, owner, chunk), signal),
  })
}

const NOTHING = { offset: 0, isLineOpen: false }

/** Adds a line from Gantry, in the transaction of the move that it explains. */
export async function addNote(trx: Transaction, owner: LogOwner, note: string): Promise<void> {
  const end = await endOfLog(trx, owner)
  const text = `${end.isLineOpen ? '\n' : ''}${note}\n`
  await append(trx, owner, { startOffset: end.offset, text, bytes: Buffer.byteLength(text) })
}

/** For a note that must not prevent the move. */
export async function tryAddNote(trx: Transaction, owner: LogOwner, note: string): Promise<void> {
  await sql`savepoint note`.execute(trx)
  try {
    await addNote(trx, owner, note)
  } catch {
    await sql`rollback to savepoint note`.execute(trx)
  }
}

async function append(db: Database, owner: LogOwner, chunk: LogChunk): Promise<void> {
  const { kind } = await storeChunk(db, owner, chunk)
  if (kind === 'refused') throw new JobReassignedError('write its log')
}
