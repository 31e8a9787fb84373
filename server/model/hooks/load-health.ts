import { sql } from 'kysely'
import { IS_NEXT } from '#model/events/delivery-order.ts'
import type { Database, Transaction } from '#platform/database/connect.ts'
import type { HealthRow } from './health.ts'

/** How many pending deliveries are examined for the one that is sent next; normally it is among the first. */
const EXAMINED = 500
/** How many of the newest requests are examined for the last failure: some are tests, or were superseded. */
const RECENT = 20

/** What is stored about the health of hooks, by id. One statement; nothing is read for healthy ones but their absence. */
export async function loadHealth(db: Database, hookIds: readonly string[]): Promise<Map<string, HealthRow>> {
  if (hookIds.length === 0) return new Map()
  const { rows } = await sql<HealthRow & { hook_id: string }>`
    select h.id as hook_id, now() as now, s.open_until, s.failing_since, next.due_at, last.last,
      coalesce(s.failures_in_a_row, 0) as failures_in_a_row, coalesce(s.failed_deliveries, 0) as failed_deliveries
    from hooks h left join hook_health s on s.hook_id = h.id
    left join lateral (
      select coalesce(
        (select d.due_at from (
          select * from deliveries d where d.hook_id = h.id and d.state = 'pending' order by d.due_at limit ${EXAMINED}::int
        ) as d where ${sql.raw(IS_NEXT)} order by d.due_at limit 1),
        (select d.due_at from deliveries d where d.hook_id = h.id and d.state = 'pending' and d.attempts > 0
          order by d.due_at limit 1)) as due_at
    ) as next on h.active and s.hook_id is not null
    left join lateral (
      select json_build_object('error', r.error, 'status', r.response_status_code) as last from (
        select * from hook_requests r where r.hook_id = h.id order by r.id desc limit ${RECENT}::int
      ) as r where r.outcome not in ('delivered', 'superseded') and r.event_id is not null order by r.id desc limit 1
    ) as last on true
    where h.id = any(${hookIds}::uuid[]) and (s.hook_id is not null or h.disabled_at is not null)`.execute(db)
  return new Map(rows.map(({ hook_id, ...row }) => [hook_id, row]))
}

/**
 * Another URL is another receiver: the health of the last one says nothing about it. A row that is being written
 * right now stays: its writer may be about to switch off the same hook, and would wait for us.
 */
export async function resetHealth(trx: Transaction, hookId: string): Promise<void> {
  await sql`
    delete from hook_health where hook_id in (
      select hook_id from hook_health where hook_id = ${hookId} for update skip locked)`.execute(trx)
}
