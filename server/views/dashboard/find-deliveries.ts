import { sql } from 'kysely'
import type { Database } from '#platform/database/connect.ts'
import { COUNT_LIMIT } from '#platform/http/pagination.ts'
import type { FailingHook, OverviewDeliveries } from './schemas.ts'

export const MOST_FAILING = 50

/** How telling the world goes, for the hooks of these environments. */
export async function findDeliveries(
  db: Database,
  environmentIds: readonly number[],
): Promise<OverviewDeliveries> {
  const [failing, pending, failed_last_day] = await Promise.all([
    findFailing(db, environmentIds),
    countPending(db, environmentIds),
    countGivenUp(db, environmentIds),
  ])
  return { failing, pending, failed_last_day }
}

/** Receivers that do not answer as they should, and hooks that were switched off for it: longest first. */
async function findFailing(db: Database, environmentIds: readonly number[]): Promise<FailingHook[]> {
  const { rows } = await sql<FailingHook>`
    select h.id as hook_id, h.name, h.pipeline_id, h.environment_id, s.failing_since,
      coalesce(s.failures_in_a_row, 0) as failures_in_a_row, s.open_until, h.disabled_at, h.disabled_reason
    from hooks h left join hook_health s on s.hook_id = h.id
    where h.environment_id = any(${environmentIds}::bigint[]) and h.type = 'outgoing' and h.deleted_at is null
      and (h.disabled_at is not null or (h.active and (s.failing_since is not null or s.failures_in_a_row > 0)))
    order by coalesce(s.failing_since, h.disabled_at), h.id limit ${MOST_FAILING}::bigint`.execute(db)
  return rows
}

async function countPending(db: Database, environmentIds: readonly number[]): Promise<number> {
  const { rows } = await sql<{ found: number }>`
    select count(*) as found from (
      select from hooks h join deliveries d on d.hook_id = h.id
      where h.environment_id = any(${environmentIds}::bigint[]) and h.type = 'outgoing' and h.deleted_at is null
        and d.state = 'pending'
      limit ${COUNT_LIMIT}::bigint) as counted`.execute(db)
  return rows[0]!.found
}

/** Given up within a day: the id of the last attempt tells when that was made. */
async function countGivenUp(db: Database, environmentIds: readonly number[]): Promise<number> {
  const { rows } = await sql<{ found: number }>`
    select count(*) as found from (
      select from hooks h join deliveries d on d.hook_id = h.id
      where h.environment_id = any(${environmentIds}::bigint[]) and h.type = 'outgoing' and h.deleted_at is null
        and d.state = 'failed' and d.last_request_id >= (select uuidv7(interval '-1 day'))
      limit ${COUNT_LIMIT}::bigint) as counted`.execute(db)
  return rows[0]!.found
}
