import type { HealthCheck } from '#platform/database/tables.ts'
import type { Tried } from './check-health.ts'

// When a health check has passed, has failed, or tries again. Pure. Times are in milliseconds since the check began.

type Timing = Pick<HealthCheck, 'interval_seconds' | 'within_seconds' | 'healthy_for_seconds'>

/** `healthySince`: when the first of the healthy tries without an unhealthy one after it had ended. */
export type Progress = { tries: number; healthySince: number | null }

export const NO_TRIES: Progress = { tries: 0, healthySince: null }

export type Judged = { progress: Progress; line: string } & (
  | { kind: 'healthy' }
  | { kind: 'unhealthy'; message: string }
  | { kind: 'again'; at: number }
)

/**
 * The last try starts when `within_seconds` end, or earlier by the `healthy_for_seconds` that would follow, whatever the
 * interval is. What became healthy early enough to stay so is tried until then, even if its last answers are slow.
 */
export function judgeTry(
  timing: Timing,
  before: Progress,
  tried: Tried & { startedAt: number; endedAt: number },
): Judged {
  const { interval_seconds, within_seconds, healthy_for_seconds } = timing
  const { isHealthy, text, startedAt, endedAt } = tried
  const tries = before.tries + 1
  const healthySince = isHealthy ? (before.healthySince ?? endedAt) : null
  const progress = { tries, healthySince }
  const nextAt = Math.max(endedAt, startedAt + interval_seconds * 1_000)
  if (healthySince === null) {
    const line = `Try ${tries}: ${text}`
    const lastAt = (within_seconds - healthy_for_seconds) * 1_000
    if (!tried.isFinal && endedAt < lastAt)
      return { kind: 'again', at: Math.min(nextAt, lastAt), progress, line }
    const message = `Not healthy${tried.isFinal ? '' : reasonOf(timing, endedAt)}: ${text}.`
    return { kind: 'unhealthy', message, progress, line }
  }
  const doneAt = healthySince + healthy_for_seconds * 1_000
  const held = `, ${Math.min(Math.floor((endedAt - healthySince) / 1_000), healthy_for_seconds)} of ${healthy_for_seconds} s`
  const line = `Try ${tries}: ${text}: healthy${healthy_for_seconds === 0 ? '' : held}`
  if (endedAt >= doneAt) return { kind: 'healthy', progress, line }
  return { kind: 'again', at: Math.max(endedAt, Math.min(nextAt, doneAt)), progress, line }
}

/** Never names a time that has not passed without saying so. */
function reasonOf({ within_seconds, healthy_for_seconds }: Timing, endedAt: number): string {
  if (healthy_for_seconds === 0) return ` within ${within_seconds} s`
  const goal = `${healthy_for_seconds} s within ${within_seconds} s`
  const seconds = Math.floor(endedAt / 1_000)
  if (seconds >= within_seconds) return ` for ${goal}`
  return ` after ${seconds} s, which leaves too little time to be healthy for ${goal}`
}
