import { type AttemptResult, decisiveStatus, MAX_RETRY_AFTER_MS, readRetryAfter } from './retry-schedule.ts'

/**
 * Circuit breaker of one receiver. Closed while `failures` are few; open until `openUntil`; after that half open: one
 * attempt may probe, and its result decides. A receiver may also request a pause (Retry-After): then the breaker is open
 * until `openUntil`, however few its failures. Claiming deliveries enforces it.
 */
export type BreakerState = { failures: number; openUntil: Date | null }

export const HEALTHY: BreakerState = { failures: 0, openUntil: null }

/** This many consecutive failures open the breaker. */
export const OPENS_AFTER = 5
const FIRST_PAUSE_MS = 5_000
const MAX_PAUSE_MS = 60_000

/**
 * The state after an attempt. Pure. Only a probe (`isProbe`) changes an open breaker: attempts that started before it
 * opened finish later and add no information.
 */
export function afterAttempt(
  state: BreakerState,
  result: AttemptResult,
  { now, isProbe }: { now: Date; isProbe: boolean },
): BreakerState {
  // Nothing was sent. The next attempt may probe instead.
  if (result.kind === 'blocked') return isProbe ? { ...state, openUntil: now } : state
  const isPaused = isAhead(state.openUntil, now)
  const isOpen = isPaused && state.failures >= OPENS_AFTER
  // A success of an older attempt does not end a pause that the receiver requested.
  if (!isFailure(result)) return isPaused && !isOpen ? { ...state, failures: 0 } : HEALTHY
  const startedBefore = isOpen && !isProbe
  const failures = startedBefore ? state.failures : state.failures + 1
  const pauseMs = Math.max(startedBefore ? 0 : pauseAfter(failures), requestedPause(result))
  const openedUntil = isPaused && !(isOpen && isProbe) ? state.openUntil!.getTime() : 0
  const openUntil = Math.max(openedUntil, pauseMs > 0 ? now.getTime() + pauseMs : 0)
  return { failures, openUntil: openUntil === 0 ? null : new Date(openUntil) }
}

/** Network errors, timeouts, 5xx and 429. Any other response comes from a working receiver. */
function isFailure(result: AttemptResult): boolean {
  if (result.kind !== 'answered') return true
  const status = decisiveStatus(result)
  return status >= 500 || status === 429
}

function pauseAfter(failures: number): number {
  if (failures < OPENS_AFTER) return 0
  return Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(10, failures - OPENS_AFTER))
}

function requestedPause(result: AttemptResult): number {
  if (result.kind !== 'answered' || ![429, 503].includes(decisiveStatus(result))) return 0
  return readRetryAfter(result.retryAfter, result.now) ?? 0
}

/** A pause longer than the maximum means that the clock was set back: it no longer counts. */
function isAhead(until: Date | null, now: Date): boolean {
  const milliseconds = (until?.getTime() ?? 0) - now.getTime()
  return milliseconds > 0 && milliseconds <= MAX_RETRY_AFTER_MS
}
