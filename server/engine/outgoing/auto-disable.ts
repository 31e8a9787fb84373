import { type AttemptResult, isDelivered } from './retry-schedule.ts'

export type HookVerdict = { kind: 'keep' } | { kind: 'warn' } | { kind: 'disable'; reason: string }

/** How long a hook has been failing. One successful delivery resets it. */
export const NO_FAILURES = {
  failingSince: null as Date | null,
  /** Deliveries that have failed permanently since then. */
  failedDeliveries: 0,
  /** Consecutive 410 responses. */
  goneAnswers: 0,
  /** When the warning was logged: once per series of failures. */
  warnedAt: null as Date | null,
}
export type FailureRecord = typeof NO_FAILURES

const DAY_MS = 24 * 60 * 60 * 1_000
const DAYS = 5
const FAILED_DELIVERIES = 10
const GONE_ANSWERS = 2

/** What an attempt means for its hook. Pure. `isLast`: the delivery has failed permanently. */
export function evaluateHook(
  record: FailureRecord,
  result: AttemptResult,
  { now, isLast }: { now: Date; isLast: boolean },
): { record: FailureRecord; verdict: HookVerdict } {
  if (isDelivered(result)) return { record: NO_FAILURES, verdict: { kind: 'keep' } }
  // A start in the future is from before the clock was set back.
  const failingSince = record.failingSince && record.failingSince <= now ? record.failingSince : now
  const next = {
    ...record,
    failingSince,
    failedDeliveries: record.failedDeliveries + (isLast ? 1 : 0),
    goneAnswers: countGone(record.goneAnswers, result),
  }
  const failingForMs = now.getTime() - failingSince.getTime()
  if (next.goneAnswers >= GONE_ANSWERS)
    return { record: next, verdict: { kind: 'disable', reason: 'The receiver returned 410 (Gone) twice.' } }
  if (failingForMs >= DAYS * DAY_MS && next.failedDeliveries >= FAILED_DELIVERIES) {
    const reason = `Every delivery failed for ${DAYS} days (${next.failedDeliveries} deliveries).`
    return { record: next, verdict: { kind: 'disable', reason } }
  }
  if (failingForMs >= (DAYS / 2) * DAY_MS && next.warnedAt === null)
    return { record: { ...next, warnedAt: now }, verdict: { kind: 'warn' } }
  return { record: next, verdict: { kind: 'keep' } }
}

/** A timeout between two 410 responses does not make the receiver any less gone. */
function countGone(before: number, result: AttemptResult): number {
  if (result.kind !== 'answered') return before
  return result.status === 410 ? before + 1 : 0
}
