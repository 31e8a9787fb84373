import { setTimeout as delay } from 'node:timers/promises'
import type { Log } from './core.ts'

/**
 * Repeats a statement until the database takes it. All loops of a worker share one of these, so an
 * outage is one line in the log and its end another, however many statements it stopped.
 */
export type Outage = {
  /** `doing` names the work in the log. Throws only after `signal` has aborted. */
  persist<Result>(doing: string, work: () => Promise<Result>, signal: AbortSignal): Promise<Result>
}

export function createOutage(
  log: Log,
  { firstDelayMs = 200, maxDelayMs = 2_000 }: { firstDelayMs?: number; maxDelayMs?: number } = {},
): Outage {
  const failing = new Set<string>()
  let since = 0

  function noteFailure(doing: string, error: unknown): void {
    if (failing.size === 0) {
      since = performance.now()
      log.error({ err: error, doing }, 'the queue cannot reach its database and keeps trying')
    }
    failing.add(doing)
  }

  function noteSuccess(doing: string): void {
    if (!failing.delete(doing) || failing.size > 0) return
    log.info({ duration_ms: Math.round(performance.now() - since) }, 'the queue reaches its database again')
  }

  return {
    async persist(doing, work, signal) {
      for (let delayMs = firstDelayMs; ; delayMs = Math.min(delayMs * 2, maxDelayMs)) {
        try {
          const result = await work()
          noteSuccess(doing)
          return result
        } catch (error) {
          noteFailure(doing, error)
        }
        await delay(delayMs, undefined, { signal })
      }
    },
  }
}
