import { LRUCache } from 'lru-cache'

const INITIAL_LIMIT = 4
const MAX_LIMIT = 64
const MAX_LIMIT_WHEN_FAST = 256
const FAST_MS = 100
const RESERVED = 256
/** Far more hooks than requests can be in flight: what is evicted is idle. */
const MAX_HOOKS = 10_000

/**
 * How many requests may be in flight to each receiver. A receiver starts with a few, gets one more for each success,
 * and falls back to one when it fails: a slow one holds few slots, whatever else is waiting. One that responds quickly
 * gets more than it has connections, so that the next requests are ready when a connection is free.
 */
export function createConcurrencyLimiter() {
  const hooks = new LRUCache<string, { inFlight: number; limit: number }>({ max: MAX_HOOKS })
  const initial = () => ({ inFlight: 0, limit: INITIAL_LIMIT })

  return {
    /**
     * How many more requests may start, when `free` slots are left for all hooks together. The last of these go one by
     * one to hooks that have none yet: slow receivers that hold all others do not block the rest.
     */
    available(hookId: string, free: number): number {
      const { inFlight, limit } = hooks.peek(hookId) ?? initial()
      const slots = limit - inFlight
      // What waits behind busy connections is claimed many at a time.
      if (inFlight > MAX_LIMIT && slots < (limit - MAX_LIMIT) / 2) return 0
      if (free > RESERVED) return Math.max(0, Math.min(slots, free - RESERVED))
      return inFlight === 0 && free > 0 ? 1 : 0
    },
    start(hookId: string): void {
      const state = hooks.get(hookId) ?? initial()
      state.inFlight += 1
      hooks.set(hookId, state)
    },
    succeeded(hookId: string, tookMs: number): void {
      const state = release(hookId)
      const max = tookMs <= FAST_MS ? MAX_LIMIT_WHEN_FAST : MAX_LIMIT
      if (state) state.limit = Math.min(max, state.limit + 1)
    },
    failed(hookId: string): void {
      const state = release(hookId)
      if (state) state.limit = 1
    },
    /** Nothing was sent, or the receiver only asked for a pause: that says nothing about how many requests it can take. */
    released: (hookId: string) => void release(hookId),
  }

  function release(hookId: string) {
    const state = hooks.get(hookId)
    if (state) state.inFlight = Math.max(0, state.inFlight - 1)
    return state
  }
}

export type ConcurrencyLimiter = ReturnType<typeof createConcurrencyLimiter>
