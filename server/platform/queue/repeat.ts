import { setTimeout as delay } from 'node:timers/promises'

/** Runs `work` over and over, a pause before each, until `signal` aborts. What `work` throws after that is dropped. */
export async function repeat(everyMs: number, signal: AbortSignal, work: () => Promise<void>): Promise<void> {
  try {
    for (;;) {
      await delay(everyMs, undefined, { signal })
      await work()
    }
  } catch (error) {
    if (!signal.aborted) throw error
  }
}

/** True when `promise` came in time. */
export async function within(ms: number, promise: Promise<unknown>): Promise<boolean> {
  const timer = new AbortController()
  try {
    return await Promise.race([promise.then(() => true), delay(ms, false, { signal: timer.signal })])
  } finally {
    timer.abort()
  }
}
