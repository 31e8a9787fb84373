import { setTimeout as delay } from 'node:timers/promises'

/**
 * Runs `work` over and over, a pause before each, until `signal` aborts. An error of `work` goes to `onError`, and
 * the loop continues. Errors after the abort are dropped.
 */
export async function repeat(
  everyMs: number,
  signal: AbortSignal,
  work: () => Promise<void>,
  { onError }: { onError: (error: unknown) => void },
): Promise<void> {
  while (!signal.aborted) {
    try {
      await delay(everyMs, undefined, { signal })
      await work()
    } catch (error) {
      if (!signal.aborted) onError(error)
    }
  }
}

/** True when `promise` resolved in time, which ends early when `hurry` aborts. */
export async function within(
  ms: number,
  promise: Promise<unknown>,
  hurry: AbortSignal = new AbortController().signal,
): Promise<boolean> {
  const timer = new AbortController()
  const signal = AbortSignal.any([timer.signal, hurry])
  const over = delay(ms, false, { signal }).catch(() => false)
  try {
    return await Promise.race([promise.then(() => true), over])
  } finally {
    timer.abort()
  }
}
