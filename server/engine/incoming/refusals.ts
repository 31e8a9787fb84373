import { sql, type Transaction } from 'kysely'
import type { Database } from '#platform/database/connect.ts'
import type { Tables } from '#platform/database/tables.ts'

/**
 * Records of calls that were badly signed or came too fast. The first twenty of an hour are kept, without
 * their bodies; the rest is counted. An attack must neither fill the disk nor go unseen.
 */
export type Refusals = {
  record(call: RefusedCall): Promise<void>
  /** Writes what is counted so far. */
  flush(): Promise<void>
}

export type RefusedCall = {
  id: string
  hookId: string
  outcome: 'rejected_signature' | 'rate_limited'
  responseStatusCode: number
  address: string
  url: string
}

type Count = { hookId: string; outcome: string; calls: number }

const KEPT_PER_HOUR = 20
const MOST_HOOKS = 10_000

export function createRefusals(db: Database): Refusals {
  /** Hooks whose twenty records of the current hour are there, as far as this process knows. */
  let full = new Map<string, number>()
  const counted = new Map<string, Count>()

  function add({ hookId, outcome, calls }: Count): void {
    const key = `${hookId} ${outcome}`
    counted.set(key, { hookId, outcome, calls: (counted.get(key)?.calls ?? 0) + calls })
  }

  return {
    async record(call) {
      const hour = Math.floor(Date.now() / 3_600_000)
      const isFull = full.get(call.hookId) === hour
      if (!isFull && (await db.transaction().execute((trx) => insertUnlessFull(trx, call)))) return
      if (full.size >= MOST_HOOKS) full = new Map()
      full.set(call.hookId, hour)
      add({ hookId: call.hookId, outcome: call.outcome, calls: 1 })
    },
    async flush() {
      for (const [key, count] of counted) {
        counted.delete(key)
        try {
          await addToCount(db, count)
        } catch (error) {
          add(count)
          throw error
        }
      }
    },
  }
}

async function addToCount(db: Database, { hookId, outcome, calls }: Count): Promise<void> {
  await sql`
    insert into refused_calls (hook_id, hour, outcome, calls)
    values (${hookId}, date_trunc('hour', now()), ${outcome}, ${calls})
    on conflict (hook_id, hour, outcome) do update set calls = refused_calls.calls + excluded.calls`.execute(
    db,
  )
}

/** One after the other for each hook: together, each would see room for one more. */
async function insertUnlessFull(trx: Transaction<Tables>, call: RefusedCall): Promise<boolean> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${call.hookId}, 0))`.execute(trx)
  const { numAffectedRows } = await sql`
    insert into hook_requests (id, hook_id, type, ip_address, url, method, outcome, response_status_code)
    select ${call.id}::uuid, ${call.hookId}::uuid, 'incoming', ${call.address}, ${call.url}, 'POST', ${call.outcome}, ${call.responseStatusCode}::int
    where (
      select count(*) from (
        select from hook_requests where hook_id = ${call.hookId}::uuid and outcome in ('rejected_signature', 'rate_limited')
          and created_at >= date_trunc('hour', now()) limit ${KEPT_PER_HOUR}
      ) as kept
    ) < ${KEPT_PER_HOUR}`.execute(trx)
  return (numAffectedRows ?? 0n) > 0n
}
