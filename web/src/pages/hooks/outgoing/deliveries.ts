// Groups delivery attempts into deliveries: did the receiver get it? Pure.
import type { HookRequestRecord } from '#web/base/api/types.ts'

export type Delivery = ReturnType<typeof toDelivery>

/** Attempts name the first attempt of their delivery. Newest delivery first. */
export function groupDeliveries(requests: HookRequestRecord[]): Delivery[] {
  const outgoing = requests.filter(({ type }) => type === 'outgoing')
  return [...Map.groupBy(outgoing, ({ retry_of, id }) => retry_of ?? id)]
    .map(toDelivery)
    .sort((one, other) => (one.createdAt < other.createdAt ? 1 : -1))
}

function toDelivery([id, unordered]: [string, HookRequestRecord[]]) {
  const attempts = unordered.toSorted((one, other) => (one.created_at < other.created_at ? -1 : 1))
  return {
    /** The id of the first attempt. */
    id,
    createdAt: attempts[0]!.created_at,
    state: stateOf(attempts),
    attempts: attempts.length,
    /** Oldest first. */
    requests: attempts,
    last: attempts.at(-1)!,
  }
}

function stateOf(attempts: HookRequestRecord[]): 'delivered' | 'retrying' | 'failed' | 'superseded' {
  const last = attempts.at(-1)!
  if (attempts.some((attempt) => attempt.outcome === 'delivered')) return 'delivered'
  if (last.outcome === 'superseded') return 'superseded'
  return last.next_attempt_at === null ? 'failed' : 'retrying'
}

/** `2 delivered, 1 retrying`. */
export function deliveriesSummary(deliveries: Delivery[]): string {
  const counts = (['delivered', 'retrying', 'failed', 'superseded'] as const)
    .map((state) => ({ state, count: deliveries.filter((delivery) => delivery.state === state).length }))
    .filter(({ count }) => count > 0)
  if (counts.length === 0) return 'No notifications yet'
  return counts.map(({ state, count }) => `${count} ${state}`).join(', ')
}
