import { type AttemptResult, LONGEST_RETRY_AFTER_MS, readRetryAfter } from './retry-schedule.ts'

/**
 * Spares a receiver that is sick. Closed while `failures` are few; open until `openUntil`; when that has
 * passed, half open: one attempt may probe, and its result decides. A receiver may also ask to be left alone
 * (Retry-After): then it is held until `openUntil`, however few its failures. Who may go by it is decided where
 * deliveries are claimed.
 */
export type BreakerState = { failures: number; openUntil: Date | null }

export const HEALTHY: BreakerState = { failures: 0, openUntil: null }

/** As many failures in a row open the breaker. */
export const OPENS_AFTER = 5
const FIRST_PAUSE_MS = 5_000
const LONGEST_PAUSE_MS = 60_000

/**
 * The state after an attempt. Pure. `isProbe`: it was let through as a probe; attempts from before the breaker
 * opened come back later, and tell nothing new.
 */
export function afterAttempt(
  state: BreakerState,
  result: AttemptResult,
  attempt: { now: Date; isProbe: boolean },
): BreakerState {
  const { now, isProbe } = attempt
  // Nobody was asked. Whoever comes next may probe instead.
  if (result.kind === 'blocked') return isProbe ? { ...state, openUntil: now } : state
  if (!saysSick(result)) return isHeld(state, now) ? { failures: 0, openUntil: state.openUntil } : HEALTHY
  const isOpen = state.failures >= OPENS_AFTER && isAhead(state.openUntil, now)
  const isStraggler = isOpen && !isProbe
  const failures = isStraggler ? state.failures : state.failures + 1
  const pauseMs = Math.max(isStraggler ? 0 : pauseAfter(failures), askedPause(result))
  const kept = isOpen && isProbe ? null : state.openUntil
  return { failures, openUntil: latest(kept, pauseMs === 0 ? null : later(now, pauseMs), now) }
}

/** Network faults, silence, 5xx and 429. Any other answer comes from a receiver that lives. */
function saysSick(result: AttemptResult): boolean {
  return result.kind !== 'answered' || result.status >= 500 || result.status === 429
}

function pauseAfter(failures: number): number {
  if (failures < OPENS_AFTER) return 0
  return Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(10, failures - OPENS_AFTER))
}

function askedPause(result: AttemptResult): number {
  if (result.kind !== 'answered' || ![429, 503].includes(result.status)) return 0
  return readRetryAfter(result.retryAfter, result.now) ?? 0
}

/** Asked to be left alone: an older attempt that went well does not change that. */
function isHeld(state: BreakerState, now: Date): boolean {
  return state.failures < OPENS_AFTER && isAhead(state.openUntil, now)
}

/** No pause is longer than the longest: then the clock was set back, and nobody waits for it to catch up. */
function isAhead(until: Date | null, now: Date): until is Date {
  if (until === null) return false
  const milliseconds = until.getTime() - now.getTime()
  return milliseconds > 0 && milliseconds <= LONGEST_RETRY_AFTER_MS
}

function latest(one: Date | null, other: Date | null, now: Date): Date | null {
  const ahead = [one, other].filter((date) => isAhead(date, now))
  return ahead.length === 0 ? null : new Date(Math.max(...ahead.map((date) => date.getTime())))
}

function later(now: Date, milliseconds: number): Date {
  return new Date(now.getTime() + milliseconds)
}
