// How an outgoing hook is doing, in words. Pure: the API decides which state it is in.
import type { Hook, HookHealth } from '#web/base/api/types.ts'

export function isFailing({ state }: Pick<HookHealth, 'state'>): boolean {
  return state === 'failing' || state === 'paused'
}

/** `Failed once`, `Failed 3 times in a row`: the API counts at least that many. */
export function failureCount({ failures_in_a_row: count }: Pick<HookHealth, 'failures_in_a_row'>): string {
  return count <= 1 ? 'Failed once' : `Failed ${count} times in a row`
}

/** `Waiting for api.github.com until 14:05 (rate limit)`; undefined unless a service has reached its limit. */
export function waitingFor({
  target_url,
  paused_until,
  paused_reason,
}: Pick<Hook, 'target_url' | 'paused_until' | 'paused_reason'>): string | undefined {
  const [, reason] = /\(([^()]*rate limit)\)$/.exec(paused_reason ?? '') ?? []
  if (!paused_until || !reason) return undefined
  const host = URL.parse(target_url ?? '')?.host ?? 'the receiver'
  const time = new Date(paused_until).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' })
  return `Waiting for ${host} until ${time} (${reason})`
}
