import { sql } from 'kysely'
import type { Database } from '#platform/database/connect.ts'
import { uuidAt } from '#platform/database/uuid-at.ts'
import type { DeliveryHour } from './schemas.ts'

const HOUR_MS = 3_600_000
const HOURS = 24
/** A hook with more shows fewer hours. */
const MAX_ATTEMPTS = 20_000

/** `cutHour`: there are more attempts than were read, from this hour on backward. */
type Row = { hour: number; delivered: number; retried: number; failed: number; cutHour: number | null }

/**
 * How the deliveries of a hook went, by the hour of their first attempts; the current hour last. Of a hook with very many, only
 * hours of which all are counted.
 */
export async function readDeliveryHours(db: Database, hookId: string, now: number): Promise<DeliveryHour[]> {
  const current = Math.floor(now / HOUR_MS)
  const from = uuidAt((current - HOURS + 1) * HOUR_MS)
  const { rows } = await sql<Row>`
    with attempts as (
      select id, coalesce(retry_of, id) as first, outcome, created_at,
        row_number() over (order by id desc) > ${MAX_ATTEMPTS}::int as is_beyond
      from hook_requests where hook_id = ${hookId}::uuid and id >= ${from}::uuid and type = 'outgoing'
      order by id desc limit ${MAX_ATTEMPTS + 1}::int
    ), tried as (
      select min(created_at) as began, count(*) as attempts, bool_or(outcome = 'delivered') as is_delivered,
        (array_agg(id order by id desc))[1] as newest, (array_agg(outcome order by id desc))[1] as outcome
      from attempts where first >= (select id from attempts order by id limit 1) group by first
    ), judged as (
      select *, not is_delivered and coalesce((
          select h.active and h.deleted_at is null and d.state = 'pending' and d.last_request_id = r.id
          from hook_requests r join deliveries d on d.hook_id = r.hook_id and d.event_id = r.event_id
          join hooks h on h.id = r.hook_id
          where r.id = newest and r.next_attempt_at is not null), false) as is_waiting
      from tried
    )
    select floor(extract(epoch from began) / 3600)::int as hour,
      count(*) filter (where is_delivered and attempts = 1)::int as delivered,
      count(*) filter (where is_delivered and attempts > 1 or is_waiting)::int as retried,
      count(*) filter (where not is_delivered and not is_waiting and outcome <> 'superseded')::int as failed,
      (select floor(extract(epoch from created_at) / 3600)::int from attempts where is_beyond) as "cutHour"
    from judged group by hour`.execute(db)
  const byHour = new Map(rows.map((row) => [row.hour, row]))
  const cutHour = rows[0]?.cutHour ?? null
  const first = cutHour === null ? current - HOURS + 1 : cutHour + 1
  return Array.from({ length: Math.max(0, current - first + 1) }, (_, index) => {
    const { delivered = 0, retried = 0, failed = 0 } = byHour.get(first + index) ?? {}
    return { hour: new Date((first + index) * HOUR_MS).toISOString(), delivered, retried, failed }
  })
}
