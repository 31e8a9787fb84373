import { setTimeout as sleep } from 'node:timers/promises'

const LONGEST_PAUSE_MS = 1_000

/** Lets others have the database at least half of the time, and says when to stop. */
export type Throttle = ReturnType<typeof createThrottle>

/** `signal` and `untilMs` (on the clock of `performance`) end the work between two batches. */
export function createThrottle({ signal, untilMs }: { signal: AbortSignal; untilMs: number }) {
  let busySince = performance.now()
  return {
    isOver: () => signal.aborted || performance.now() >= untilMs,
    /** Call it after each batch. */
    async pause(): Promise<void> {
      const tookMs = performance.now() - busySince
      await sleep(Math.min(tookMs, LONGEST_PAUSE_MS), undefined, { signal }).catch(() => {})
      busySince = performance.now()
    },
  }
}
