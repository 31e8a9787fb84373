import { useSyncExternalStore } from 'react'

// One clock for everything that shows ages and running durations; it stands still while nobody looks at it.

function createClock(everyMs: number) {
  const listeners = new Set<() => void>()
  let now = Date.now()
  let timer: ReturnType<typeof setInterval> | undefined
  return {
    now: () => now,
    subscribe(listener: () => void) {
      listeners.add(listener)
      now = Date.now()
      timer ??= setInterval(() => {
        now = Date.now()
        for (const tick of listeners) tick()
      }, everyMs)
      return () => {
        listeners.delete(listener)
        if (listeners.size > 0) return
        clearInterval(timer)
        timer = undefined
      }
    },
  }
}

const seconds = createClock(1_000)
const minutes = createClock(20_000)
const STILL = { now: () => 0, subscribe: () => () => {} }

/** The time, renewed each second; 0 and never renewed when nothing needs it. */
export function useSeconds(needed: boolean): number {
  const clock = needed ? seconds : STILL
  return useSyncExternalStore(clock.subscribe, clock.now)
}

/** The time for ages, which need not be exact. */
export function useMinutes(): number {
  return useSyncExternalStore(minutes.subscribe, minutes.now)
}
