import { setTimeout as pause } from 'node:timers/promises'

/** Waits for the task, but not longer than `ms`. */
export async function atMost(ms: number, task: Promise<unknown>): Promise<void> {
  const over = new AbortController()
  const timer = pause(ms, undefined, { signal: over.signal }).catch(() => {})
  await Promise.race([task, timer]).finally(() => over.abort())
}
