/**
 * How many requests may be under way to each receiver at once. A receiver begins with a few, gets one more for
 * each that it takes, and falls back to one when it fails: a slow one holds few places, whoever else is waiting.
 * One that answers quickly gets more than it has connections, so that the next are at hand when one is free.
 */
export type ConcurrencyLimiter = {
  /**
   * How many more may begin now, when `free` places are left for all hooks together. The last of these go one by one
   * to hooks that have none yet: slow receivers that have taken all others do not hold up the rest.
   */
  room(hookId: string, free: number): number
  begin(hookId: string): void
  /** `tookMs` is null when the receiver was not asked. */
  end(hookId: string, wentWell: boolean, tookMs: number | null): void
}

const FIRST = 4
const MOST = 64
const MOST_WHEN_QUICK = 256
const QUICK_MS = 100
const KEPT_FREE = 256
const MOST_REMEMBERED = 10_000

export function createConcurrencyLimiter(): ConcurrencyLimiter {
  const hooks = new Map<string, { underWay: number; limit: number }>()

  function stateOf(hookId: string) {
    let state = hooks.get(hookId)
    if (!state) {
      state = { underWay: 0, limit: FIRST }
      hooks.set(hookId, state)
    }
    return state
  }

  function forgetIdle(): void {
    for (const [id, { underWay }] of hooks) if (underWay === 0) hooks.delete(id)
  }

  return {
    room(hookId, free) {
      const { underWay, limit } = hooks.get(hookId) ?? { underWay: 0, limit: FIRST }
      const places = limit - underWay
      // What waits behind busy connections is fetched many at a time.
      if (underWay > MOST && places < (limit - MOST) / 2) return 0
      if (free > KEPT_FREE) return Math.max(0, Math.min(places, free - KEPT_FREE))
      return underWay === 0 && free > 0 ? 1 : 0
    },
    begin(hookId) {
      if (hooks.size >= MOST_REMEMBERED) forgetIdle()
      stateOf(hookId).underWay += 1
    },
    end(hookId, wentWell, tookMs) {
      const state = stateOf(hookId)
      state.underWay -= 1
      const most = (tookMs ?? 0) <= QUICK_MS ? MOST_WHEN_QUICK : MOST
      state.limit = wentWell ? Math.min(most, state.limit + 1) : 1
    },
  }
}
