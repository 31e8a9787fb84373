import { sql } from 'kysely'
import { HELD, isHeld } from '#model/hooks/rate-budgets.ts'
import type { Database } from '#platform/database/connect.ts'

const MAX_COUNTED = 100_000

export type DeliveryDepths = {
  pending: number
  /** Due a minute ago, without an attempt in progress, and not because of a rate limit. */
  late: number
  failingHooks: number
  /** Those that wait for a rate limit, by the origin that has one. */
  limited: { origin: string; deliveries: number }[]
}

/** Totals for operators. */
export async function readDeliveryDepths(db: Database): Promise<DeliveryDepths> {
  const { rows } = await sql<Omit<DeliveryDepths, 'limited'>>`
    with ${sql.raw(HELD)}
    select count(*)::int as pending, (select count(*)::int from hook_health) as "failingHooks",
      count(*) filter (where due_at < now() - interval '1 minute' and coalesce(leased_until < now(), true)
        and not ${sql.raw(isHeld('d'))})::int as late
    from (select hook_id, due_at, leased_until from deliveries where state = 'pending' limit ${MAX_COUNTED}) as d`.execute(
    db,
  )
  const limited = await sql<DeliveryDepths['limited'][number]>`
    with ${sql.raw(HELD)}
    select held.origin, sum(waiting.deliveries)::int as deliveries from held cross join lateral (
      select count(*) as deliveries from (
        select from deliveries d where d.hook_id = held.hook_id and d.state = 'pending' limit ${MAX_COUNTED}) as counted
    ) as waiting
    where held.is_paused group by held.origin order by 2 desc`.execute(db)
  return { ...rows[0]!, limited: limited.rows }
}
