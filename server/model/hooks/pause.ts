import type { HealthRow } from './health.ts'
import type { HookPause } from './rate-budgets.ts'

/** Until when an outgoing hook sends nothing, and why: a rate limit, or the pause of its circuit breaker. Pure. */
export function pauseOf(
  { active }: { active: boolean },
  health: Pick<HealthRow, 'open_until' | 'now'> | undefined,
  limit: HookPause | undefined,
): { paused_until: string | null; paused_reason: string | null } {
  if (!active) return { paused_until: null, paused_reason: null }
  if (limit) {
    const { paused_until, reason } = limit
    const host = new URL(limit.origin).host
    const paused_reason = `${host} allows no more requests until ${timeOf(paused_until)} (${reason})`
    return { paused_until, paused_reason }
  }
  const openUntil = health?.open_until ?? null
  if (openUntil === null || openUntil <= health!.now) return { paused_until: null, paused_reason: null }
  return {
    paused_until: openUntil,
    paused_reason: `nothing is sent until ${timeOf(openUntil)}: attempts failed`,
  }
}

/** `14:05 UTC`, of a time in ISO 8601, UTC. */
const timeOf = (time: string) => `${time.slice(11, 16)} UTC`
