import { type RawBuilder, sql } from 'kysely'
import { ANY_ID, newestInPartition } from '#model/actions/partition.ts'

/** How many of the newest runs are read, of all environments together, and of each at least. */
const RECENT_RUNS = 1_000
const MIN_EACH = 50

/**
 * SQL: of each pipeline `p` of these environments that meets the condition, its `newest` run, and the newest that completed or
 * failed if that `failed`. Most pipelines are among the newest runs of their environment, which one index
 * lists; only for the others, their own index is asked, for ended runs alone. What has not ended is new, as a rule.
 */
export function newestRuns(
  environmentIds: readonly number[],
  condition: RawBuilder<unknown>,
): RawBuilder<unknown> {
  const limit = Math.max(MIN_EACH, Math.floor(RECENT_RUNS / Math.max(1, environmentIds.length)))
  const columns = ['pipeline_id', 'status'] as const
  const ofEnvironment = newestInPartition(['environment_id'], { ids: ANY_ID, limit, columns })
  const ofPipeline = newestInPartition(['pipeline_id', 'status'], { ids: ANY_ID, limit: 1 })
  return sql`(
    with considered as materialized (
      select p.id from pipelines p
      where p.environment_id = any(${environmentIds}::bigint[]) and p.deleted_at is null and ${condition}
    ), recent as materialized (
      select a.pipeline_id, max(a.id) as newest, max(a.id) filter (where a.status in ('completed', 'failed')) as ended,
        max(a.id) filter (where a.status = 'failed') as failed
      from unnest(${environmentIds}::bigint[]) as partition (environment_id), lateral ${ofEnvironment} as a
      group by a.pipeline_id
    ), older as (
      select partition.pipeline_id, max(newest.id) as newest,
        max(newest.id) filter (where partition.status = 'failed') as failed
      from (
        select p.id as pipeline_id, s.status from considered p, unnest(array['completed', 'failed']) as s (status)
        where p.id not in (select pipeline_id from recent where ended is not null)
      ) as partition, lateral ${ofPipeline} as newest
      group by partition.pipeline_id
    )
    select pipeline_id, max(newest) as newest, case when max(failed) = max(ended) then max(failed) end as failed
    from (
      select pipeline_id, newest, ended, failed from recent
      where pipeline_id in (select id from considered)
      union all select pipeline_id, newest, newest, failed from older
    ) as known
    group by pipeline_id)`
}
