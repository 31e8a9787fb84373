import { findOutage } from '#platform/database/find-outage.ts'
import { OUTAGES, type OutageKind } from '#platform/database/outage-kinds.ts'
import { type ErrorCode, OUTAGE_CODES } from '#platform/http/errors.ts'

/** What `/readyz` depends on. */
export type ReadinessSigns = Parameters<typeof findOutage>[0] & {
  /** Why this process must not work any more: a newer Gantry has migrated the database. Null while it may. */
  refusal(): string | null
  isStopping(): boolean
  /** Whether a job was processed recently. */
  isQueueWorking(): Promise<boolean>
}

/** `sentence`: for operators. */
export type Unready = { code: ErrorCode; sentence: string }

/**
 * Why a process should get no requests; null when it should. An exhausted pool is no reason: most hook calls have
 * connections of their own, and the other processes would get the load that this one cannot take.
 */
export async function findUnready(signs: ReadinessSigns): Promise<Unready | null> {
  const refusal = signs.refusal()
  if (refusal !== null) return { code: 'outgrown', sentence: refusal }
  if (signs.isStopping()) return { code: 'stopping', sentence: 'This process is stopping.' }
  const outage = await findOutage(signs)
  if (outage !== null) return { code: OUTAGE_CODES[outage], sentence: sentenceOf(outage) }
  if (await signs.isQueueWorking()) return null
  const sentence = 'No job went through the queue in the last seconds. Check that a worker runs, and its log.'
  return { code: 'queue_stalled', sentence }
}

const sentenceOf = (kind: OutageKind) => `${OUTAGES[kind].sentence} ${OUTAGES[kind].remedy}`
