import { type RawBuilder, sql } from 'kysely'
import { healthOf } from '#model/hooks/health.ts'
import { loadHealth } from '#model/hooks/load-health.ts'
import type { Database } from '#platform/database/connect.ts'
import { COUNT_LIMIT } from '#platform/http/pagination.ts'
import type { FailingHook, OverviewDeliveries } from './schemas.ts'

const MAX_FAILING = 50

/** The state of deliveries, for the hooks of these environments. */
export async function findDeliveries(
  db: Database,
  environmentIds: readonly number[],
): Promise<OverviewDeliveries> {
  const ofHooks = sql`h.environment_id = any(${environmentIds}::bigint[]) and h.type = 'outgoing' and h.deleted_at is null`
  const [failing, pending, failed_last_day] = await Promise.all([
    findFailing(db, ofHooks),
    countDeliveries(db, ofHooks, sql`d.state = 'pending'`),
    // The id of the last attempt contains its time.
    countDeliveries(
      db,
      ofHooks,
      sql`d.state = 'failed' and d.last_request_id >= (select uuidv7(interval '-1 day'))`,
    ),
  ])
  return { failing, pending, failed_last_day }
}

/** Hooks whose receiver fails, and hooks that were disabled for it: longest first. */
async function findFailing(db: Database, ofHooks: RawBuilder<unknown>): Promise<FailingHook[]> {
  const { rows } = await sql<Omit<FailingHook, 'health'> & { active: boolean }>`
    select h.id as hook_id, h.name, h.pipeline_id, h.environment_id, s.failing_since, h.active,
      coalesce(s.failures_in_a_row, 0) as failures_in_a_row, s.open_until, h.disabled_at, h.disabled_reason
    from hooks h left join hook_health s on s.hook_id = h.id
    where ${ofHooks}
      and (h.disabled_at is not null or (h.active and (s.failing_since is not null or s.failures_in_a_row > 0)))
    order by coalesce(s.failing_since, h.disabled_at), h.id limit ${MAX_FAILING}::bigint`.execute(db)
  const health = await loadHealth(
    db,
    rows.map((row) => row.hook_id),
  )
  return rows.map(({ active, ...row }) => ({
    ...row,
    health: healthOf({ ...row, active }, health.get(row.hook_id)),
  }))
}

async function countDeliveries(
  db: Database,
  ofHooks: RawBuilder<unknown>,
  condition: RawBuilder<unknown>,
): Promise<number> {
  const { rows } = await sql<{ found: number }>`
    select count(*) as found from (
      select from hooks h join deliveries d on d.hook_id = h.id where ${ofHooks} and ${condition}
      limit ${COUNT_LIMIT}::bigint) as counted`.execute(db)
  return rows[0]!.found
}
