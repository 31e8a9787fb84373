/**
 * Limits what may happen thousands of times to once per key and period, log lines above all: true for the first time, and
 * again when the period since then is over.
 */
export function oncePer(periodMs: number, now: () => number = () => performance.now()) {
  /** Oldest first. */
  const since = new Map<unknown, number>()
  return (key: unknown): boolean => {
    for (const [other, at] of since) {
      if (now() - at < periodMs) break
      since.delete(other)
    }
    if (since.has(key)) return false
    since.set(key, now())
    return true
  }
}
