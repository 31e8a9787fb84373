// How an outgoing hook is doing, in words. Pure: the API decides which state it is in.
import type { HookHealth } from '../../api/types.ts'

export function isFailing({ state }: Pick<HookHealth, 'state'>): boolean {
  return state === 'failing' || state === 'paused'
}

/** `Failed once`, `Failed 3 times in a row`: the API counts at least that many. */
export function failureCount({ failures_in_a_row: count }: Pick<HookHealth, 'failures_in_a_row'>): string {
  return count <= 1 ? 'Failed once' : `Failed ${count} times in a row`
}
