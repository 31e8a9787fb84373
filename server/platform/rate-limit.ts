import { LRUCache } from 'lru-cache'

/** Bounded, because unauthenticated callers choose their keys. */
const MAX_BUCKETS = 50_000

export type RateLimiter = ReturnType<typeof createRateLimiter>

/** A token bucket per key: `burst` at once, `perSecond` in the long run. The clock is passed in. */
export function createRateLimiter() {
  // Takes megabytes, which a limiter that is never asked does not need.
  let buckets: LRUCache<string, { tokens: number; at: number }> | undefined
  return {
    /** Takes one token; returns 0, or the seconds until one is available. `now` in milliseconds. */
    take(key: string, { perSecond, burst }: { perSecond: number; burst: number }, now: number): number {
      buckets ??= new LRUCache({ max: MAX_BUCKETS })
      const bucket = buckets.get(key) ?? { tokens: burst, at: now }
      // A clock that was set back must not cost tokens.
      const seconds = Math.max(0, now - bucket.at) / 1000
      bucket.tokens = Math.min(burst, bucket.tokens + seconds * perSecond)
      bucket.at = now
      buckets.set(key, bucket)
      if (bucket.tokens < 1) return Math.max(1, Math.ceil((1 - bucket.tokens) / perSecond))
      bucket.tokens -= 1
      return 0
    },
  }
}
