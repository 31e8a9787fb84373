import { sql } from 'kysely'
import { ANY_ID, newestInPartition } from '#model/actions/partition.ts'
import type { Database } from '#platform/database/connect.ts'
import { isFailingHook, isRecentFailure } from './find-attention.ts'

/** What decides the position of an application within its environment. Runs that the caller may not see do not. */
export type Standing = { needsAttention: boolean; newestRun: number | null }

/** Those that need attention first, then those that ran last; otherwise by name. Pure. */
export function sortByStanding<Application extends { id: number; name: string }>(
  applications: readonly Application[],
  standings: ReadonlyMap<number, Standing>,
): Application[] {
  const of = (id: number) => standings.get(id) ?? { needsAttention: false, newestRun: null }
  return applications.toSorted((one, other) => {
    const [a, b] = [of(one.id), of(other.id)]
    return (
      Number(b.needsAttention) - Number(a.needsAttention) ||
      (b.newestRun ?? 0) - (a.newestRun ?? 0) ||
      (one.name < other.name ? -1 : Number(one.name > other.name)) ||
      one.id - other.id
    )
  })
}

/** SQL: applications whose servers have different live commits, or one of whose servers is unknown: `id`. */
function drifted(ids: readonly number[]) {
  return sql`
    select link.application_id as id from application_servers link
    left join live_releases live using (application_id, server_id)
    left join unknown_live_releases unknown using (application_id, server_id)
    where link.application_id = any(${ids}::bigint[])
    group by link.application_id
    having count(unknown.server_id) > 0
      or count(distinct coalesce(live.commit_sha, live.release_name)) > 1`
}

/**
 * `seen`: those of the applications whose runs the caller may see, `withHooks`: whose hooks. Each pipeline takes a look at the
 * end of an index for each status.
 */
export async function readStandings(
  db: Database,
  { ids, seen, withHooks }: { ids: readonly number[]; seen: readonly number[]; withHooks: readonly number[] },
): Promise<Map<number, Standing>> {
  const pipelines = sql`pipelines p where p.application_id = any(${seen}::bigint[]) and p.deleted_at is null`
  const newest = newestInPartition(['pipeline_id', 'status'], { ids: ANY_ID, limit: 1 })
  const { rows } = await sql<Standing & { id: number }>`
    with latest as materialized (
      select partition.application_id, partition.pipeline_id, partition.status, newest.id from (
        select p.application_id, p.id as pipeline_id, s.status
        from unnest(array['pending', 'waiting', 'queued', 'in-progress', 'completed', 'failed', 'skipped']) as s (status),
          ${pipelines}) as partition, lateral ${newest} as newest
    ), failing as (
      select latest.application_id from latest join actions a on a.id = latest.id
      where latest.status = 'failed' and ${isRecentFailure} and not exists (select from latest later
        where later.pipeline_id = latest.pipeline_id and later.status = 'completed' and later.id > latest.id)
    ), attention as (
      select application_id as id from failing union ${drifted(ids)} union
      select p.application_id from hooks h left join hook_health health on health.hook_id = h.id
      join pipelines p on p.id = h.pipeline_id
      where p.application_id = any(${withHooks}::bigint[]) and p.deleted_at is null and ${isFailingHook}
    )
    select app.id, attention.id is not null as "needsAttention", runs.newest as "newestRun"
    from unnest(${ids}::bigint[]) as app (id) left join attention using (id)
    left join (select application_id as id, max(id) as newest from latest group by application_id) as runs using (id)`.execute(
    db,
  )
  return new Map(rows.map(({ id, ...standing }) => [id, standing]))
}
