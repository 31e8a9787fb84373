import { sql } from 'kysely'
import { LRUCache } from 'lru-cache'
import type { Database, Transaction } from '#platform/database/connect.ts'
import { uuidAt } from '#platform/database/uuid-at.ts'
import type { CallRecord } from './evaluate-call.ts'

type RejectedCall = Pick<
  CallRecord,
  | 'id'
  | 'outcome'
  | 'response_status_code'
  | 'ip_address'
  | 'url'
  | 'body_bytes'
  | 'signature_problem'
  | 'delivery_id'
>

const KINDS = { rejected: ['rejected_signature', 'rate_limited'], checks: ['checks'] }
const kindOf = ({ outcome }: RejectedCall) => (outcome === 'checks' ? 'checks' : 'rejected')

const STORED_PER_HOUR = 20
const HOUR_MS = 3_600_000
const MAX_HOOKS = 10_000

/**
 * Records calls that were rejected for their signature or their rate, and calls about checks. Of each kind, the first twenty
 * per hook and hour are stored, without bodies; the rest is counted. An attack must neither fill the disk nor go unnoticed.
 */
export function createRejectionLog(db: Database) {
  /** The hour in which a hook reached its twenty records, as far as this process knows. */
  const fullHours = new LRUCache<string, number>({ max: MAX_HOOKS })
  /** The end of the last record of a hook. */
  const last = new Map<string, Promise<void>>()
  const counts = new Map<string, { hookId: string; outcome: string; calls: number }>()

  function count(hookId: string, outcome: string, calls: number): void {
    const key = `${hookId} ${outcome}`
    counts.set(key, { hookId, outcome, calls: (counts.get(key)?.calls ?? 0) + calls })
  }

  async function recordNext(hookId: string, call: RejectedCall): Promise<void> {
    const hour = Math.floor(Date.now() / HOUR_MS)
    const key = `${hookId} ${kindOf(call)}`
    const isFull = fullHours.get(key) === hour
    if (!isFull && (await db.transaction().execute((trx) => insertUnlessFull(trx, hookId, call, hour))))
      return
    fullHours.set(key, hour)
    count(hookId, call.outcome, 1)
  }

  return {
    /** One at a time per hook: in a flood, all would wait for one lock, and with them every connection. */
    async record(hookId: string, call: RejectedCall): Promise<void> {
      const next = (last.get(hookId) ?? Promise.resolve()).then(() => recordNext(hookId, call))
      const ended = next.catch(() => {})
      last.set(hookId, ended)
      await next.finally(() => {
        if (last.get(hookId) === ended) last.delete(hookId)
      })
    },
    /** Writes the counts to the database. */
    async flush(): Promise<void> {
      for (const [key, { hookId, outcome, calls }] of counts) {
        counts.delete(key)
        try {
          await sql`
            insert into refused_calls (hook_id, hour, outcome, calls)
            values (${hookId}, date_trunc('hour', now()), ${outcome}, ${calls})
            on conflict (hook_id, hour, outcome) do update set calls = refused_calls.calls + excluded.calls`.execute(
            db,
          )
        } catch (error) {
          count(hookId, outcome, calls)
          throw error
        }
      }
    },
  }
}

/** One at a time per hook: concurrently, each would see room for one more. Ids begin with the time of the call. */
async function insertUnlessFull(
  trx: Transaction,
  hookId: string,
  call: RejectedCall,
  hour: number,
): Promise<boolean> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${hookId}, 0))`.execute(trx)
  const { numAffectedRows } = await sql`
    insert into hook_requests (id, hook_id, type, ip_address, url, method, outcome, response_status_code, body_bytes,
      signature_problem, delivery_id)
    select ${call.id}::uuid, ${hookId}::uuid, 'incoming', ${call.ip_address}, ${call.url}, 'POST', ${call.outcome},
      ${call.response_status_code}::int, ${call.body_bytes}::int, ${call.signature_problem},
      ${call.delivery_id}
    where (
      select count(*) from (
        select from hook_requests where hook_id = ${hookId}::uuid and outcome = any(${KINDS[kindOf(call)]}::text[])
          and id >= ${uuidAt(hour * HOUR_MS)}::uuid limit ${STORED_PER_HOUR}
      ) as stored
    ) < ${STORED_PER_HOUR}`.execute(trx)
  const isStored = (numAffectedRows ?? 0n) > 0n
  if (isStored && call.outcome === 'rejected_signature') await suspectSecret(trx, hookId)
  return isStored
}

/** If the hook is connected, its host is asked whether that call was its own, at most every 15 minutes. */
async function suspectSecret(trx: Transaction, hookId: string): Promise<void> {
  await sql`
    update hook_connections set rejected_at = now(), due_at = least(due_at, now())
    where hook_id = ${hookId}::uuid and (rejected_at is null or rejected_at < now() - interval '15 minutes')`.execute(
    trx,
  )
}
