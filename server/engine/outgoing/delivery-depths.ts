import { sql } from 'kysely'
import type { Database } from '#platform/database/connect.ts'

export type DeliveryDepths = {
  /** Waiting or being sent; counted up to MOST_COUNTED. */
  pending: number
  /** Of the pending ones, those that were due a minute ago: somebody should have sent them. */
  late: number
  failingHooks: number
}

const MOST_COUNTED = 100_000

/** How telling the world is getting on, for operators. */
export async function readDeliveryDepths(db: Database): Promise<DeliveryDepths> {
  const { rows } = await sql<{ pending: number; late: number; failing_hooks: number }>`
    select count(*)::int as pending, (select count(*)::int from hook_health) as failing_hooks,
      count(*) filter (where due_at < now() - interval '1 minute' and coalesce(leased_until < now(), true))::int as late
    from (select due_at, leased_until from deliveries where state = 'pending' limit ${MOST_COUNTED}) as waiting`.execute(
    db,
  )
  const { pending, late, failing_hooks } = rows[0]!
  return { pending, late, failingHooks: failing_hooks }
}
