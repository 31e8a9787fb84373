/** Wakes one waiting loop. A notification that nobody waits for is remembered for the next wait. */
export type Signal = {
  notify(): void
  /** Drops a remembered notification. */
  clear(): void
  /** Resolves at the next notification, or after `ms`. */
  wait(ms?: number): Promise<void>
}

export function createSignal(): Signal {
  let notified = false
  let wake: (() => void) | undefined
  return {
    notify() {
      notified = true
      wake?.()
    },
    clear() {
      notified = false
    },
    async wait(ms) {
      if (!notified) {
        const { promise, resolve } = Promise.withResolvers<void>()
        wake = resolve
        const timer = ms === undefined ? undefined : setTimeout(resolve, ms)
        await promise
        clearTimeout(timer)
        wake = undefined
      }
      notified = false
    },
  }
}
