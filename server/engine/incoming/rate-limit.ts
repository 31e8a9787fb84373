/** A bucket of tokens per key: `burst` at once, `perSecond` in the long run. The clock is passed in. */
export type RateLimiter = {
  /** Takes one token; 0, or the seconds to wait for one. `now` in milliseconds. */
  take(key: string, limit: { perSecond: number; burst: number }, now: number): number
}

type Bucket = { tokens: number; at: number }

const MOST_BUCKETS = 50_000

export function createRateLimiter(): RateLimiter {
  let buckets = new Map<string, Bucket>()
  return {
    take(key, { perSecond, burst }, now) {
      const bucket = buckets.get(key) ?? { tokens: burst, at: now }
      // A clock that was set back must not cost tokens.
      const seconds = Math.max(0, now - bucket.at) / 1000
      bucket.tokens = Math.min(burst, bucket.tokens + seconds * perSecond)
      bucket.at = now
      // Strangers choose their keys: forgetting all buckets is kinder than growing without end.
      if (!buckets.has(key) && buckets.size >= MOST_BUCKETS) buckets = new Map()
      buckets.set(key, bucket)
      if (bucket.tokens < 1) return Math.max(1, Math.ceil((1 - bucket.tokens) / perSecond))
      bucket.tokens -= 1
      return 0
    },
  }
}
