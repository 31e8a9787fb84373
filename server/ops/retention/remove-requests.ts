import { sql } from 'kysely'
import type { Database } from '#platform/database/connect.ts'
import { uuidAt } from '#platform/database/uuid-at.ts'
import type { EnvironmentPolicy } from './policy.ts'
import type { Throttle } from './throttle.ts'

const BATCH = 500

const DAY_MS = 24 * 60 * 60 * 1_000

/** Removes old records of calls and deliveries; returns how many. Their ids begin with their time. */
export async function removeOldRequests(
  db: Database,
  { environmentId, retention: { requests_days } }: EnvironmentPolicy,
  throttle: Throttle,
): Promise<number> {
  if (requests_days === null) return 0
  const before = uuidAt(Date.now() - requests_days * DAY_MS)
  const { rows: hooks } = await sql<{ id: string }>`
    select id from hooks where environment_id = ${environmentId}`.execute(db)
  let removed = 0
  for (const { id } of hooks) {
    while (!throttle.isOver()) {
      // Only the index of hooks and ids provides this order.
      const { numAffectedRows = 0n } = await sql`
        delete from hook_requests where id = any(array(
          select r.id from hook_requests r where r.hook_id = any(array[${id}::uuid]) and r.id < ${before}::uuid
          order by r.hook_id desc, r.id limit ${BATCH}::int))`.execute(db)
      removed += Number(numAffectedRows)
      if (numAffectedRows < BigInt(BATCH)) break
      await throttle.pause()
    }
  }
  return removed
}

/** Removes bodies and headers of records older than some days; returns how many. Each record is visited once. */
export async function removeOldBodies(db: Database, days: number, throttle: Throttle): Promise<number> {
  const before = uuidAt(Date.now() - days * DAY_MS)
  let removed = 0
  while (!throttle.isOver()) {
    const { rows } = await sql<{ seen: number; removed: number }>`
      with batch as materialized (
        select id from hook_requests
        where id >= (select bodies_before from retention_totals) and id < ${before}::uuid
        order by id limit ${BATCH}::int
      ), emptied as (
        update hook_requests r set request_body = null, request_headers = null, response_body = null, response_headers = null
        where r.id = any(array(select id from batch))
          and num_nonnulls(r.request_body, r.request_headers, r.response_body, r.response_headers) > 0
        returning r.id
      ), moved as (
        update retention_totals set bodies_before = (select max(id::text)::uuid from batch)
        where exists (select from batch) and (select count(*) from batch) = ${BATCH}::int
      )
      select (select count(*) from batch) as seen, (select count(*) from emptied) as removed`.execute(db)
    const { seen, removed: now } = rows[0]!
    removed += now
    if (seen < BATCH) break
    await throttle.pause()
  }
  return removed
}
