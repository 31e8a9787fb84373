export type Signal = ReturnType<typeof createSignal>

/** Wakes one waiting loop. A notification that nobody waits for is remembered for the next wait. */
export function createSignal() {
  let notified = false
  let wake: (() => void) | undefined
  return {
    notify(): void {
      notified = true
      wake?.()
    },
    /** Drops a remembered notification. */
    clear(): void {
      notified = false
    },
    /** Resolves at the next notification, or after `ms`. */
    async wait(ms?: number): Promise<void> {
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
