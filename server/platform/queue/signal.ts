/** Wakes one waiting loop. A ring that comes while nobody waits is kept for the next wait. */
export type Signal = {
  ring(): void
  /** Forgets a ring that was kept. */
  hush(): void
  /** Resolves at the next ring, or after `ms`. */
  wait(ms?: number): Promise<void>
}

export function createSignal(): Signal {
  let rung = false
  let wake: (() => void) | undefined
  return {
    ring() {
      rung = true
      wake?.()
    },
    hush() {
      rung = false
    },
    async wait(ms) {
      if (!rung) {
        const { promise, resolve } = Promise.withResolvers<void>()
        wake = resolve
        const timer = ms === undefined ? undefined : setTimeout(resolve, ms)
        await promise
        clearTimeout(timer)
        wake = undefined
      }
      rung = false
    },
  }
}
