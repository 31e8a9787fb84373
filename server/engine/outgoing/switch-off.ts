import { type AttemptResult, isDelivered } from './retry-schedule.ts'

/** How long a hook has been failing. One delivery that arrives begins everything anew. */
export type FailureRecord = {
  failingSince: Date | null
  /** Deliveries that were given up since then. */
  failedDeliveries: number
  /** 410 in a row. */
  goneAnswers: number
  /** When its people were warned, once per stretch of failures. */
  warnedAt: Date | null
}

export type SwitchOffVerdict = { kind: 'keep' } | { kind: 'warn' } | { kind: 'switch-off'; reason: string }

export const NO_FAILURES: FailureRecord = {
  failingSince: null,
  failedDeliveries: 0,
  goneAnswers: 0,
  warnedAt: null,
}

const DAY_MS = 24 * 60 * 60 * 1_000
const DAYS = 5
const FAILED_DELIVERIES = 10
const GONE_ANSWERS = 2

/** What an attempt says about its hook. Pure. `gaveUp`: it was the last attempt of its delivery. */
export function judgeHook(
  record: FailureRecord,
  result: AttemptResult,
  attempt: { now: Date; gaveUp: boolean },
): { record: FailureRecord; verdict: SwitchOffVerdict } {
  if (isDelivered(result)) return { record: NO_FAILURES, verdict: { kind: 'keep' } }
  const next = addFailure(record, result, attempt)
  if (next.goneAnswers >= GONE_ANSWERS) return switchOff(next, 'The receiver answered 410 (gone) twice.')
  const failingForMs = attempt.now.getTime() - next.failingSince.getTime()
  if (failingForMs >= DAYS * DAY_MS && next.failedDeliveries >= FAILED_DELIVERIES)
    return switchOff(next, `For ${DAYS} days every delivery failed: ${next.failedDeliveries} in all.`)
  if (failingForMs >= (DAYS / 2) * DAY_MS && next.warnedAt === null)
    return { record: { ...next, warnedAt: attempt.now }, verdict: { kind: 'warn' } }
  return { record: next, verdict: { kind: 'keep' } }
}

function addFailure(
  record: FailureRecord,
  result: AttemptResult,
  { now, gaveUp }: { now: Date; gaveUp: boolean },
): FailureRecord & { failingSince: Date } {
  // A beginning that lies ahead is one from before the clock was set back.
  const isKnown = record.failingSince !== null && record.failingSince <= now
  return {
    failingSince: isKnown ? record.failingSince! : now,
    failedDeliveries: record.failedDeliveries + (gaveUp ? 1 : 0),
    goneAnswers: countGone(record.goneAnswers, result),
    warnedAt: record.warnedAt,
  }
}

/** Silence between two answers does not make the receiver any less gone. */
function countGone(before: number, result: AttemptResult): number {
  if (result.kind !== 'answered') return before
  return result.status === 410 ? before + 1 : 0
}

function switchOff(
  record: FailureRecord,
  reason: string,
): { record: FailureRecord; verdict: SwitchOffVerdict } {
  return { record, verdict: { kind: 'switch-off', reason } }
}
