// The calls that a connected hook missed: what is known of them, and how far catching up with them is.
import { sql } from 'kysely'
import type { Push } from '#model/connections/read-push.ts'
import type { Database } from '#platform/database/connect.ts'
import { uuidAt } from '#platform/database/uuid-at.ts'
import { type ClaimedConnection, isOwned } from './claim.ts'

const MINUTE = 60_000
/** Hosts list what they tried for as long. */
const MAX_AGE_MS = 3 * 24 * 60 * MINUTE
/** An attempt may still be under way when the ones after it are listed, and clocks differ. */
const OVERLAP_MS = 15 * MINUTE
const MAX_PER_HOUR = 100
const MAX_REDELIVERIES = 5
/** How soon the host calls again when it is asked to; the next times it gets four times as long, because something is wrong. */
const ARRIVES_AFTER_MS = 2 * MINUTE
const LOOK_AGAIN_MS = 15_000

export type FailedCall = { deliveryId: string; attemptId: string; event: string; missedAt: number }

/** In milliseconds: from when on the attempts of the host are of interest, and what time it is. */
export async function readSince(
  db: Database,
  { hookId }: ClaimedConnection,
): Promise<{ since: number; now: number }> {
  const { rows } = await sql<{ until: number; now: number }>`
    select extract(epoch from tries_read_until)::float8 * 1000 as until, extract(epoch from now())::float8 * 1000 as now
    from hook_connections where hook_id = ${hookId}`.execute(db)
  const { until, now } = rows[0] ?? { until: Date.now(), now: Date.now() }
  return { since: Math.max(until - OVERLAP_MS, now - MAX_AGE_MS), now }
}

/** Those that have no record here; any verdict is one, but for that of the rate limit. */
export function storeFailed(
  db: Database,
  claimed: ClaimedConnection,
  failed: readonly FailedCall[],
  { since, now }: { since: number; now: number },
): Promise<void> {
  const { hookId } = claimed
  return db.transaction().execute(async (trx) => {
    const { numAffectedRows } = await sql`
      update hook_connections set tries_read_until = to_timestamp(${now / 1000}::float8)
      where ${isOwned(claimed)}`.execute(trx)
    if ((numAffectedRows ?? 0n) === 0n || failed.length === 0) return
    await sql`
      with failed as (
        select * from json_to_recordset(${JSON.stringify(failed.map((call, n) => ({ ...call, n })))}::json)
          as f ("deliveryId" text, "attemptId" text, event text, "missedAt" float8, n int)
        where not exists (
          select from hook_requests r where r.hook_id = ${hookId} and r.id >= ${uuidAt(since - OVERLAP_MS)}::uuid
            and r.delivery_id = f."deliveryId" and r.outcome <> 'rate_limited')
          and not exists (
            select from missed_calls m where m.hook_id = ${hookId} and m.delivery_id = f."deliveryId")
      ),
      caught as (
        insert into catch_ups (hook_id) select ${hookId}::uuid where exists (select from failed) returning id
      )
      insert into missed_calls (catch_up_id, hook_id, delivery_id, attempt_id, event, missed_at, state, is_read)
      select caught.id, ${hookId}, "deliveryId", "attemptId", event, to_timestamp("missedAt" / 1000), 'waiting',
        event <> 'push'
      from failed, caught order by n
      on conflict do nothing`.execute(trx)
  })
}

/** Those that have arrived by now. Those that have not within their time are delivered once more. */
export async function markReceived(db: Database, hookId: string): Promise<void> {
  const from = await oldestOpen(db, hookId)
  if (from === null) return
  await sql`
    update missed_calls m set state = 'received', request_id = r.id from hook_requests r
    where m.hook_id = ${hookId} and m.state in ('waiting', 'redelivered') and r.hook_id = m.hook_id
      and r.id >= ${from}::uuid and r.delivery_id = m.delivery_id and r.outcome <> 'rate_limited'`.execute(db)
  await sql`
    update missed_calls m set state = case when redeliveries < ${MAX_REDELIVERIES} then 'waiting' else 'lost' end
    where m.hook_id = ${hookId} and m.state = 'redelivered' and ${RETRY_AT} <= now()`.execute(db)
}

/** The smallest id of a record that could be of a call that is still missing; null: none is. */
async function oldestOpen(db: Database, hookId: string): Promise<string | null> {
  const { rows } = await sql<{ ms: number | null }>`
    select extract(epoch from min(missed_at))::float8 * 1000 as ms from missed_calls
    where hook_id = ${hookId} and state in ('waiting', 'redelivered')`.execute(db)
  const ms = rows[0]?.ms ?? null
  return ms === null ? null : uuidAt(ms - OVERLAP_MS)
}

const RETRY_AT = sql`redelivered_at + ${ARRIVES_AFTER_MS}::float8 * interval '1 millisecond' * 4 ^ (redeliveries - 1)`

export type Missed = { id: number; attemptId: string }

export async function findUnread(db: Database, hookId: string, atMost: number): Promise<Missed[]> {
  const { rows } = await sql<Missed>`
    select id, attempt_id as "attemptId" from missed_calls
    where hook_id = ${hookId} and state = 'waiting' and not is_read
    order by missed_at desc, id desc limit ${atMost}::int`.execute(db)
  return rows
}

export async function storePayload(db: Database, id: number, push: Push | null): Promise<void> {
  await sql`
    update missed_calls set is_read = true, ref = ${push?.ref ?? null}, commit = ${push?.commit ?? null}
    where id = ${id}`.execute(db)
}

/** A push is superseded by a newer one of its branch or tag, whether that was missed, too, or has come. */
export async function markSuperseded(db: Database, hookId: string): Promise<void> {
  const from = await oldestOpen(db, hookId)
  if (from === null) return
  await sql`
    with waiting as (
      select id, ref, missed_at from missed_calls where hook_id = ${hookId} and state = 'waiting' and ref is not null
    ),
    came as (
      select pushed_ref as ref, max(created_at) as at from hook_requests r
      where r.hook_id = ${hookId} and r.id >= ${from}::uuid and r.pushed_ref in (select ref from waiting)
        and not exists (
          select from missed_calls m where m.hook_id = r.hook_id and m.delivery_id = r.delivery_id)
      group by pushed_ref
    )
    update missed_calls m set state = 'superseded' from waiting w
    where m.id = w.id and (
      exists (select from came where came.ref = w.ref and came.at > w.missed_at)
      or exists (
        select from missed_calls newer where newer.hook_id = ${hookId} and newer.ref = w.ref and newer.state <> 'lost'
          and (newer.missed_at, newer.id) > (w.missed_at, w.id)))`.execute(db)
}

/** Oldest first, and as many as an hour allows. */
export async function findRedeliverable(db: Database, hookId: string): Promise<Missed[]> {
  const { rows } = await sql<Missed>`
    select id, attempt_id as "attemptId" from missed_calls
    where hook_id = ${hookId} and state = 'waiting' and is_read
    order by missed_at, id
    limit greatest(0, ${MAX_PER_HOUR}::int - (
      select count(*) from missed_calls where hook_id = ${hookId} and redelivered_at > now() - interval '1 hour'))`.execute(
    db,
  )
  return rows
}

export async function endRedelivery(db: Database, id: number, state: 'redelivered' | 'lost'): Promise<void> {
  const isAsked = state === 'redelivered'
  await sql`
    update missed_calls set state = ${state}, redeliveries = redeliveries + ${isAsked ? 1 : 0}::int,
      redelivered_at = case when ${isAsked} then now() else redelivered_at end
    where id = ${id} and state = 'waiting'`.execute(db)
}

/** In milliseconds: when there is more to do; null: nothing is left. */
export async function nextRedelivery(db: Database, hookId: string): Promise<number | null> {
  const { rows } = await sql<{ ms: number | null }>`
    select extract(epoch from min(case
      when state = 'waiting' then greatest(now() + interval '1 minute', (
        select redelivered_at + interval '1 hour' from missed_calls
        where hook_id = ${hookId} and redelivered_at > now() - interval '1 hour'
        order by redelivered_at desc offset ${MAX_PER_HOUR - 1} limit 1))
      when redelivered_at > now() - ${ARRIVES_AFTER_MS}::float8 * interval '1 millisecond'
        then now() + ${LOOK_AGAIN_MS}::float8 * interval '1 millisecond'
      else ${RETRY_AT} end) - now())::float8 * 1000 as ms
    from missed_calls where hook_id = ${hookId} and state in ('waiting', 'redelivered')`.execute(db)
  const ms = rows[0]?.ms ?? null
  return ms === null ? null : Math.max(1_000, ms)
}
