/** What came of one attempt, as far as it matters for what happens next. */
export type AttemptResult =
  | { kind: 'answered'; status: number; retryAfter: string | null; now: Date }
  | { kind: 'timed-out' | 'unreachable' | 'blocked' }

export type NextAttempt =
  | { kind: 'delivered' }
  | { kind: 'retry'; afterMs: number }
  | { kind: 'give-up'; why: string }

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

/** The pauses after the first attempt, the second, … */
const PAUSES_MS = [
  5 * SECOND,
  30 * SECOND,
  2 * MINUTE,
  10 * MINUTE,
  30 * MINUTE,
  HOUR,
  3 * HOUR,
  6 * HOUR,
  12 * HOUR,
]
/** For answers that mean "no", but may only mean "not yet": what they are about is being made. */
const SHORT_PAUSES_MS = PAUSES_MS.slice(0, 2)
const MAYBE_NOT_YET = [404, 409, 422]
const JITTER = 0.2

/** The longest time that a receiver may ask us to wait. */
export const LONGEST_RETRY_AFTER_MS = HOUR

/** What happens after an attempt. Pure: `attemptNumber` is 1 for the first, `random` lies in 0…1. */
export function nextAttempt(result: AttemptResult, attemptNumber: number, random: number): NextAttempt {
  if (isDelivered(result)) return { kind: 'delivered' }
  const pauses = pausesFor(result)
  if (pauses.length === 0) return { kind: 'give-up', why: `${describe(result)} Trying again would not help.` }
  const pause = pauses[attemptNumber - 1]
  if (pause === undefined)
    return { kind: 'give-up', why: `${describe(result)} This was attempt ${attemptNumber}, the last one.` }
  const scheduled = Math.round(pause * (1 - JITTER + 2 * JITTER * Math.min(1, Math.max(0, random))))
  const asked = result.kind === 'answered' ? readRetryAfter(result.retryAfter, result.now) : null
  return { kind: 'retry', afterMs: Math.max(scheduled, asked ?? 0) }
}

export function isDelivered(result: AttemptResult): boolean {
  return result.kind === 'answered' && result.status >= 200 && result.status < 300
}

function pausesFor(result: AttemptResult): number[] {
  if (result.kind === 'blocked') return []
  if (result.kind !== 'answered') return PAUSES_MS
  if (result.status >= 500 || [408, 425, 429].includes(result.status)) return PAUSES_MS
  return MAYBE_NOT_YET.includes(result.status) ? SHORT_PAUSES_MS : []
}

function describe(result: AttemptResult): string {
  switch (result.kind) {
    case 'answered':
      return result.status >= 300 && result.status < 400
        ? `The receiver answered ${result.status}, and redirects are not followed.`
        : `The receiver answered ${result.status}.`
    case 'timed-out':
      return 'The receiver did not answer in time.'
    case 'unreachable':
      return 'The receiver could not be reached.'
    case 'blocked':
      return 'The request may not be sent.'
  }
}

/**
 * The milliseconds that a Retry-After header asks for: seconds, or a date in one of HTTP's three forms. Never
 * more than an hour; null when it asks for nothing we understand.
 */
export function readRetryAfter(header: string | null, now: Date): number | null {
  const text = header?.trim() ?? ''
  const milliseconds = /^\d+$/.test(text) ? Number(text) * SECOND : readHttpDate(text) - now.getTime()
  if (Number.isNaN(milliseconds)) return null
  return Math.min(LONGEST_RETRY_AFTER_MS, Math.max(0, milliseconds))
}

const DATE_FORMS = [
  /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/,
  /^[A-Z][a-z]{5,8}, \d{2}-[A-Z][a-z]{2}-\d{2} \d{2}:\d{2}:\d{2} GMT$/,
]
const ASCTIME_FORM = /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/

function readHttpDate(text: string): number {
  if (DATE_FORMS.some((form) => form.test(text))) return Date.parse(text)
  // The one form without a zone is GMT too.
  return ASCTIME_FORM.test(text) ? Date.parse(`${text} GMT`) : Number.NaN
}
