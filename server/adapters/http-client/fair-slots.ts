type Start = () => boolean
type Origin = { taken: number; bySharer: Map<string, number>; waiting: Map<string, Start[]> }

const newOrigin = (): Origin => ({ taken: 0, bySharer: new Map(), waiting: new Map() })

/** How many times the free slots one sharer may hold: alone it gets three quarters, next to another one three sevenths. */
const FACTOR = 3

/**
 * Slots for requests to an origin, shared fairly. The fewer are free, the fewer one sharer may hold: what is left when one
 * takes as many as it can is for others. One that holds none does not wait for the others: it may exceed `shared`, up to
 * `most`. Those who wait take turns.
 */
export function createFairSlots({ shared, most }: { shared: number; most: number }) {
  const origins = new Map<string, Origin>()
  let isClosed = false

  function mayStart({ taken, bySharer }: Origin, sharer: string): boolean {
    const held = bySharer.get(sharer) ?? 0
    return held === 0 ? taken < most : held < FACTOR * (shared - taken)
  }

  function take(origin: Origin, sharer: string, start: Start): void {
    origin.taken += 1
    origin.bySharer.set(sharer, (origin.bySharer.get(sharer) ?? 0) + 1)
    if (!start()) giveBack(origin, sharer)
  }

  function giveBack(origin: Origin, sharer: string): void {
    const left = origin.bySharer.get(sharer)! - 1
    origin.taken -= 1
    if (left === 0) origin.bySharer.delete(sharer)
    else origin.bySharer.set(sharer, left)
  }

  function startWaiting(origin: Origin): void {
    // A sharer that goes to the end of the line is visited again.
    for (const [sharer, starts] of origin.waiting) {
      if (!isClosed && !mayStart(origin, sharer)) continue
      origin.waiting.delete(sharer)
      const start = starts.shift()!
      if (starts.length > 0) origin.waiting.set(sharer, starts)
      take(origin, sharer, start)
    }
  }

  return {
    /** Calls `start` when there is a slot, perhaps immediately; false returns the slot, which nobody needs any more. */
    enter(name: string, sharer: string, start: Start): void {
      const origin = origins.getOrInsertComputed(name, newOrigin)
      origin.waiting.getOrInsertComputed(sharer, () => []).push(start)
      startWaiting(origin)
      if (origin.taken === 0 && origin.waiting.size === 0) origins.delete(name)
    },
    leave(name: string, sharer: string): void {
      const origin = origins.get(name)!
      giveBack(origin, sharer)
      startWaiting(origin)
      if (origin.taken === 0 && origin.waiting.size === 0) origins.delete(name)
    },
    /** Lets everything start, whatever is free. */
    close(): void {
      isClosed = true
      for (const origin of origins.values()) startWaiting(origin)
    },
  }
}
