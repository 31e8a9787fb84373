import * as t from '#platform/http/schemas.ts'
import type { HookPause } from './rate-budgets.ts'

// How the deliveries of an outgoing hook are doing: one rule for everything that shows it. Pure.

const STATES = ['active', 'failing', 'paused', 'disabled', 'inactive'] as const

export const hookHealthSchema = t.namedObject('HookHealth', {
  state: t.Word(
    STATES,
    '`active`: enabled, and the last attempt succeeded, if there was one. `failing`: enabled, but nothing has been delivered since attempts began to fail. `paused`: the same, and nothing is sent for a moment, to spare the receiver. `disabled`: Gantry disabled it because deliveries kept failing. `inactive`: a person disabled it.',
  ),
  failures_in_a_row: t.Integer({
    minimum: 0,
    description: 'How many attempts have failed in a row, at least; 0 unless it is failing or paused.',
  }),
  failing_since: t.TimeOrNull('When its attempts began to fail; null unless it is failing or paused.'),
  next_attempt_at: t.TimeOrNull(
    'When the next attempt is due, after any pause; null unless it is failing or paused and something is to be sent.',
  ),
  last_error: t.TextOrNull(
    'Why the last attempt failed; null for hooks that do not fail, or were disabled by a person.',
  ),
})
export type HookHealth = t.Static<typeof hookHealthSchema>

/** What is stored about a hook that fails, or was disabled for it. Healthy hooks have none. */
export type HealthRow = {
  failures_in_a_row: number
  failed_deliveries: number
  failing_since: string | null
  /** Nothing is sent before. */
  open_until: string | null
  /** Of the delivery that is sent next. */
  due_at: string | null
  /** The last attempt that failed, if it is still on record. */
  last: { error: string | null; status: number | null } | null
  now: string
}

/** `stored` may outlive the failures of a hook that was switched off meanwhile. */
export function healthOf(
  hook: Switch,
  stored: HealthRow | undefined,
  /** The end of a rate limit. */
  pausedUntil: string | null = null,
): HookHealth {
  const state = stateOf(hook, stored)
  if (!stored || (state !== 'failing' && state !== 'paused')) {
    const last_error = state === 'disabled' ? errorOf(stored?.last) : null
    return { state, failures_in_a_row: 0, failing_since: null, next_attempt_at: null, last_error }
  }
  return {
    state,
    // The circuit breaker counts neither every response nor what came before it closed: both are lower bounds.
    failures_in_a_row: Math.max(1, stored.failures_in_a_row, stored.failed_deliveries),
    failing_since: stored.failing_since,
    next_attempt_at: stored.due_at && later(later(stored.due_at, stored.open_until), pausedUntil),
    last_error: errorOf(stored.last),
  }
}

type Switch = { active: boolean; disabled_at: string | null }

function stateOf({ active, disabled_at }: Switch, stored: HealthRow | undefined): HookHealth['state'] {
  if (!active) return disabled_at === null ? 'inactive' : 'disabled'
  if (!stored || (stored.failures_in_a_row === 0 && stored.failing_since === null)) return 'active'
  return stored.open_until !== null && stored.open_until > stored.now ? 'paused' : 'failing'
}

/** Why an attempt failed. */
export function errorOf(last: HealthRow['last'] | undefined): string | null {
  if (!last) return null
  return last.error ?? (last.status === null ? null : `The receiver returned ${last.status}.`)
}

/** Of two times in ISO 8601, UTC; null does not count. */
export function later(one: string, other: string | null): string {
  return other !== null && other > one ? other : one
}

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
