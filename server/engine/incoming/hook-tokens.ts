import { sql } from 'kysely'
import { LRUCache } from 'lru-cache'
import type { Database } from '#platform/database/connect.ts'

export type Rate = { perSecond: number; burst: number }

/** Grants up to `want` tokens of a hook's bucket; `available` is what the bucket held before. */
export type LeaseTokens = (
  hookId: string,
  rate: Rate,
  want: number,
) => Promise<{ granted: number; available: number }>

export type HookTokens = ReturnType<typeof createHookTokens>

const MAX_HOOKS = 10_000
/** Leased tokens that were not used by then are forfeited: they must not add up to a second burst. */
const LEASE_MS = 1_000
/** After a refusal the bucket is not asked again for at least this long; what it gains meanwhile is not lost. */
const REFUSED_MS = 50

type Lease = { tokens: number; until: number; retryAt: number; waiting: number; asking?: Promise<void> }

/**
 * The rate limits of hooks, which hold across all processes: a bucket per hook is in the database, and each process leases
 * a tenth of a second's worth of tokens at a time. Calls that arrive while it asks share one request.
 */
export function createHookTokens(lease: LeaseTokens) {
  const leases = new LRUCache<string, Lease>({ max: MAX_HOOKS })

  /** For everyone who waits, and a little more. */
  async function ask(hookId: string, rate: Rate, own: Lease, now: () => number): Promise<void> {
    // Everyone who arrives in this turn is counted.
    await new Promise(setImmediate)
    const spare = Math.floor(Math.min(rate.burst, rate.perSecond) / 10)
    const want = Math.min(rate.burst, Math.max(own.waiting, spare, 1))
    const { granted, available } = await lease(hookId, rate, want)
    own.tokens = granted
    own.until = now() + LEASE_MS
    const waitMs = Math.max(REFUSED_MS, ((1 - (available - granted)) / rate.perSecond) * 1_000)
    own.retryAt = granted < want ? now() + waitMs : 0
  }

  async function takeWhenAsked(hookId: string, rate: Rate, own: Lease, now: () => number): Promise<number> {
    for (;;) {
      own.waiting += 1
      own.asking ??= ask(hookId, rate, own, now).finally(() => {
        own.asking = undefined
        own.waiting = 0
      })
      await own.asking
      const taken = takeLeased(own, now)
      if (taken !== undefined) return taken
    }
  }

  return {
    /**
     * Takes one token: 0, or the seconds until one may be available. At once if it is leased, which it usually is. Rejects
     * when the database is away.
     */
    take(hookId: string, rate: Rate, now: () => number = Date.now): number | Promise<number> {
      let own = leases.get(hookId)
      if (!own) {
        own = { tokens: 0, until: 0, retryAt: 0, waiting: 0 }
        leases.set(hookId, own)
      }
      return takeLeased(own, now) ?? takeWhenAsked(hookId, rate, own, now)
    },
  }
}

/** Undefined when the database has to be asked. */
function takeLeased(own: Lease, now: () => number): number | undefined {
  if (own.tokens >= 1 && own.until > now()) {
    own.tokens -= 1
    return 0
  }
  if (own.retryAt > now()) return Math.max(1, Math.ceil((own.retryAt - now()) / 1_000))
  return undefined
}

/** The buckets in the database, which keeps the time for all processes. */
export function leaseFrom(db: Database): LeaseTokens {
  return async (hookId, { perSecond, burst }, want) => {
    for (;;) {
      const { rows } = await sql<{ granted: number; available: number }>`
        with bucket as materialized (
          select hook_id, least(${burst}::float8, tokens
            + greatest(0, extract(epoch from clock_timestamp() - filled_at)::float8) * ${perSecond}::float8) as available
          from hook_tokens where hook_id = ${hookId} for update
        )
        update hook_tokens t set tokens = available - least(floor(available), ${want}::float8), filled_at = clock_timestamp()
        from bucket where t.hook_id = bucket.hook_id
        returning least(floor(available), ${want}::float8) as granted, available`.execute(db)
      if (rows[0]) return rows[0]
      await sql`insert into hook_tokens (hook_id, tokens) values (${hookId}, ${burst}::float8)
        on conflict do nothing`.execute(db)
    }
  }
}
