import { sql } from 'kysely'
import type { ActionFilters } from '#model/actions/filters.ts'
import type { Database } from '#platform/database/connect.ts'
import { findPage } from '#views/actions/find-page.ts'
import { median } from './measure.ts'

const ROUNDS = 3
const PAGE = { limit: 25, offset: 0 }

/** What the first page of a list costs: index entries and pages that PostgreSQL read, its scans of the whole table, time. */
export type ListCost = { entries: number; pages: number; scans: number; ms: number; total: number }

export async function costOfList(
  db: Database,
  environmentIds: number[],
  filters: ActionFilters,
): Promise<ListCost> {
  const times: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const begun = performance.now()
    await findPage(db, environmentIds, filters, PAGE)
    times.push(performance.now() - begun)
  }
  return db.transaction().execute(async (trx) => {
    const before = await readsSoFar(trx)
    const { extent } = await findPage(trx, environmentIds, filters, PAGE)
    const after = await readsSoFar(trx)
    return {
      entries: after.entries - before.entries,
      pages: after.pages - before.pages,
      scans: after.scans - before.scans,
      ms: median(times),
      total: extent.total,
    }
  })
}

/** Of this connection, since it last reported its counters. */
async function readsSoFar(trx: Database) {
  const { rows } = await sql<{ entries: number; pages: number; scans: number }>`
    select sum(pg_stat_get_xact_tuples_returned(oid))::bigint as entries,
      sum(pg_stat_get_xact_blocks_fetched(oid))::bigint as pages,
      sum(pg_stat_get_xact_numscans(oid)) filter (where oid = 'actions'::regclass)::bigint as scans
    from (select 'actions'::regclass::oid as oid union all
      select indexrelid from pg_index where indrelid = 'actions'::regclass) as parts`.execute(trx)
  return rows[0]!
}

/** Some that select much and some that select little, for lists by one and by two of them. */
export async function chooseFilters(
  db: Database,
  { count, userId, pipelineId }: { count: number; userId: number; pipelineId: number },
): Promise<ActionFilters[]> {
  const twentieth = Math.floor(count / 20)
  const { rows } = await sql<{ hook_id: string; early: string; late: string }>`select
    (select hook_id from actions where hook_id is not null order by id limit 1) as hook_id,
    (select created_at from actions order by id offset ${twentieth}::int limit 1) as early,
    (select created_at from actions order by id desc offset ${twentieth}::int limit 1) as late`.execute(db)
  const { hook_id, early, late } = rows[0]!
  return [
    { status: ['failed'] },
    { status: ['in-progress'] },
    { type: ['deploy'] },
    { resource_type: ['server'] },
    { pipeline_id: [pipelineId] },
    { trigger_type: ['hook'] },
    { trigger_type: ['manual'] },
    { trigger_type: ['retry'] },
    { hook_id: [hook_id] },
    { user_id: [userId] },
    { created_before: early },
    { created_after: late },
  ]
}
