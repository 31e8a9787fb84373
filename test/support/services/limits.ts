// Fixed windows per token, as the services count them: the first request opens a window.

export type Limit = { count: number; perMs: number; kind: string }
export type Window = {
  limit: number
  used: number
  remaining: number
  /** Milliseconds until the window ends. */
  resetAfter: number
  /** Seconds since 1970 at which it ends. */
  resetAt: number
  exceeded: boolean
}

export function createLimits() {
  let limit: Limit | null = null
  const windows = new Map<string, { endsAt: number; used: number }>()
  return {
    get kind() {
      return limit?.kind ?? 'primary'
    },
    set(next: Limit | null) {
      limit = next
      windows.clear()
    },
    pass(ms: number) {
      for (const window of windows.values()) window.endsAt -= ms
    },
    /** Counts a request; null: there is no limit. */
    count(token: string | null): Window | null {
      if (!limit) return null
      const key = token ?? ''
      const now = Date.now()
      let window = windows.get(key)
      if (!window || window.endsAt <= now) {
        window = { endsAt: now + limit.perMs, used: 0 }
        windows.set(key, window)
      }
      window.used++
      return {
        limit: limit.count,
        used: window.used,
        remaining: Math.max(0, limit.count - window.used),
        resetAfter: window.endsAt - now,
        resetAt: Math.ceil(window.endsAt / 1_000),
        exceeded: window.used > limit.count,
      }
    },
  }
}
