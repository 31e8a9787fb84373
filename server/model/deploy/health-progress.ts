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
 * The last try starts within `within_seconds`. What became healthy early enough to stay so for `healthy_for_seconds`
 * is tried until then, even if its last answers are slow.
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
    const isOver = tried.isFinal || nextAt + healthy_for_seconds * 1_000 > within_seconds * 1_000
    if (!isOver) return { kind: 'again', at: nextAt, progress, line }
    const goal = healthy_for_seconds === 0 ? 'Not healthy' : `Not healthy for ${healthy_for_seconds} s`
    return { kind: 'unhealthy', message: `${goal} within ${within_seconds} s: ${text}.`, progress, line }
  }
  const doneAt = healthySince + healthy_for_seconds * 1_000
  const held = `, ${Math.min(Math.floor((endedAt - healthySince) / 1_000), healthy_for_seconds)} of ${healthy_for_seconds} s`
  const line = `Try ${tries}: ${text}: healthy${healthy_for_seconds === 0 ? '' : held}`
  if (endedAt >= doneAt) return { kind: 'healthy', progress, line }
  return { kind: 'again', at: Math.max(endedAt, Math.min(nextAt, doneAt)), progress, line }
}
