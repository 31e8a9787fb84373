import { sql } from 'kysely'
import { int8s } from '#platform/database/binary-arrays.ts'
import type { Database } from '#platform/database/connect.ts'
import { isFailingHook, isRecentFailure } from './find-attention.ts'
import { newestRuns } from './newest-runs.ts'

/** What decides the position of an application within its environment. Runs that the caller may not see do not. */
export type Standing = { needsAttention: boolean; newestRun: number | null }

/** Those that need attention first, then those that ran last; otherwise by name. Pure. */
export function sortByStanding<Application extends { id: number; name: string }>(
  applications: readonly Application[],
  standings: ReadonlyMap<number, Standing>,
): Application[] {
  return applications.toSorted((one, other) => {
    const a = standings.get(one.id)
    const b = standings.get(other.id)
    return (
      Number(b?.needsAttention ?? false) - Number(a?.needsAttention ?? false) ||
      (b?.newestRun ?? 0) - (a?.newestRun ?? 0) ||
      (one.name < other.name ? -1 : Number(one.name > other.name)) ||
      one.id - other.id
    )
  })
}

/** `seen`: those of the applications whose runs the caller may see, `withHooks`: whose hooks. */
export async function readStandings(
  db: Database,
  {
    ids,
    seen,
    withHooks,
    environmentIds,
  }: {
    ids: readonly number[]
    seen: readonly number[]
    withHooks: readonly number[]
    environmentIds: readonly number[]
  },
): Promise<Map<number, Standing>> {
  const [ran, troubled] = await Promise.all([
    findRan(db, environmentIds, seen),
    findTroubled(db, ids, withHooks),
  ])
  const standings = new Map<number, Standing>(
    ids.map((id) => [id, { needsAttention: troubled.has(id), newestRun: null }]),
  )
  for (const { id, newestRun, isFailing } of ran) {
    const standing = standings.get(id)!
    standing.newestRun = newestRun
    standing.needsAttention ||= isFailing
  }
  return standings
}

type Ran = { id: number; newestRun: number; isFailing: boolean }

/** A failed run is looked up by its id: asked whether it exists, PostgreSQL would read every ended run. */
async function findRan(
  db: Database,
  environmentIds: readonly number[],
  applicationIds: readonly number[],
): Promise<Ran[]> {
  const { rows } = await sql<Ran>`
    select p.application_id as id, max(run.newest) as "newestRun",
      coalesce(bool_or((select ${isRecentFailure} from actions a where a.id = run.failed)), false) as "isFailing"
    from ${newestRuns(environmentIds, sql`p.application_id = any(${int8s(applicationIds)}::bigint[])`)} as run
    join pipelines p on p.id = run.pipeline_id
    group by p.application_id`.execute(db)
  return rows
}

/** Releases whose commit is unknown are told apart by their names. */
const SERVED = sql`coalesce(live.commit_sha, live.release_name) collate "C"`

/** Those whose servers have different live commits, or one of whose servers is unknown; and those with a failing hook. */
async function findTroubled(
  db: Database,
  ids: readonly number[],
  withHooks: readonly number[],
): Promise<ReadonlySet<number>> {
  const { rows } = await sql<{ id: number }>`
    with viewed as materialized (select ${int8s(ids)}::bigint[] as ids)
    select live.application_id as id from live_releases live
    join application_servers link using (application_id, server_id)
    where live.application_id = any((select ids from viewed)::bigint[])
    group by live.application_id having min(${SERVED}) <> max(${SERVED})
    union all
    select unknown.application_id from unknown_live_releases unknown
    join application_servers link using (application_id, server_id)
    where unknown.application_id = any((select ids from viewed)::bigint[])
    union all
    select p.application_id from hooks h left join hook_health health on health.hook_id = h.id
    join pipelines p on p.id = h.pipeline_id
    where p.application_id = any(${int8s(withHooks)}::bigint[]) and p.deleted_at is null and ${isFailingHook}`.execute(
    db,
  )
  return new Set(rows.map(({ id }) => id))
}
