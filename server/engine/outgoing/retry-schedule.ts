/** The result of one attempt: the part that decides what happens next. */
export type AttemptResult =
  /**
   * `isRateLimited`: counts as 429. A 403 that states a limit (read-limit.ts), or a response that a preset reads as one:
   * Slack's may be a 200.
   */
  | { kind: 'answered'; status: number; retryAfter: string | null; now: Date; isRateLimited?: boolean }
  | { kind: 'timed-out' | 'unreachable' | 'blocked' }

export type NextAttempt =
  | { kind: 'delivered' }
  | { kind: 'retry'; afterMs: number }
  | { kind: 'failed'; reason: string }

const MINUTE = 60
const HOUR = 60 * MINUTE

/** The delay after the first attempt, the second, … */
const DELAYS_MS = [5, 30, 2 * MINUTE, 10 * MINUTE, 30 * MINUTE, HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR].map(
  (seconds) => seconds * 1_000,
)
/** From the first attempt to the last one. A delivery that waits for a rate limit waits no longer than that either. */
export const RETRY_SPAN_MS = DELAYS_MS.reduce((sum, delay) => sum + delay, 0)
/** For responses that may only mean "not yet": the receiver may still be creating what the event is about. */
const SHORT_DELAYS_MS = DELAYS_MS.slice(0, 2)
const MAYBE_NOT_YET = [404, 409, 422]
const JITTER = 0.2

/** The longest Retry-After that is honored. */
export const MAX_RETRY_AFTER_MS = HOUR * 1_000

/** Pure. `attemptNumber` is 1 for the first attempt; `random` is between 0 and 1. */
export function nextAttempt(result: AttemptResult, attemptNumber: number, random: number): NextAttempt {
  if (isDelivered(result)) return { kind: 'delivered' }
  const delays = delaysFor(result)
  if (delays.length === 0) return { kind: 'failed', reason: `${describe(result)} Not retried.` }
  const delay = delays[attemptNumber - 1]
  if (delay === undefined)
    return { kind: 'failed', reason: `${describe(result)} Attempt ${attemptNumber} was the last.` }
  const scheduled = Math.round(delay * (1 - JITTER + 2 * JITTER * Math.min(1, Math.max(0, random))))
  const requested = result.kind === 'answered' ? readRetryAfter(result.retryAfter, result.now) : null
  return { kind: 'retry', afterMs: Math.max(scheduled, requested ?? 0) }
}

export function isDelivered(result: AttemptResult): boolean {
  return result.kind === 'answered' && result.status >= 200 && result.status < 300
}

/** The status that decides what happens next. */
export function decisiveStatus(answer: Extract<AttemptResult, { kind: 'answered' }>): number {
  return answer.isRateLimited ? 429 : answer.status
}

function delaysFor(result: AttemptResult): number[] {
  if (result.kind === 'blocked') return []
  if (result.kind !== 'answered') return DELAYS_MS
  const status = decisiveStatus(result)
  if (status >= 500 || [408, 425, 429].includes(status)) return DELAYS_MS
  return MAYBE_NOT_YET.includes(status) ? SHORT_DELAYS_MS : []
}

function describe(result: AttemptResult): string {
  switch (result.kind) {
    case 'answered':
      if (result.isRateLimited) return `The receiver returned ${result.status}: its rate limit is reached.`
      return result.status >= 300 && result.status < 400
        ? `The receiver returned ${result.status}; redirects are not followed.`
        : `The receiver returned ${result.status}.`
    case 'timed-out':
      return 'The receiver did not respond in time.'
    case 'unreachable':
      return 'The receiver could not be reached.'
    case 'blocked':
      return 'The request is not allowed.'
  }
}

/** A Retry-After header in milliseconds, at most an hour: seconds, or one of HTTP's three date formats; else null. */
export function readRetryAfter(header: string | null, now: Date): number | null {
  const text = header?.trim() ?? ''
  const milliseconds = /^\d+$/.test(text) ? Number(text) * 1_000 : readHttpDate(text) - now.getTime()
  if (Number.isNaN(milliseconds)) return null
  return Math.min(MAX_RETRY_AFTER_MS, Math.max(0, milliseconds))
}

const DATE_FORMATS = [
  /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/,
  /^[A-Z][a-z]{5,8}, \d{2}-[A-Z][a-z]{2}-\d{2} \d{2}:\d{2}:\d{2} GMT$/,
]
const ASCTIME_FORMAT = /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/

function readHttpDate(text: string): number {
  if (DATE_FORMATS.some((format) => format.test(text))) return Date.parse(text)
  // The one format without a time zone is GMT too.
  return ASCTIME_FORMAT.test(text) ? Date.parse(`${text} GMT`) : Number.NaN
}
