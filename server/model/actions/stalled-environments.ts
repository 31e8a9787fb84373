import { sql } from 'kysely'
import type { Database } from '#platform/database/connect.ts'

/** How long nothing completes before an environment counts as stalled. */
export const STALLED_AFTER_SECONDS = 600
/** Per pipeline, with and without a slot: a backlog is not counted to its end. */
const MAX_COUNTED = 1_000
/** Runs end out of order: the last end is among those of the newest runs. */
const NEWEST = 20

export type StalledEnvironment = {
  environment_id: number
  /** Since when nothing has completed although work waits. */
  since: string
  /** Runs that wait, up to a thousand per pipeline with a slot, and without. */
  waiting: number
}

/**
 * Environments where work waits and nothing has completed for ten minutes: no run, no target, no step. Runs that wait for a
 * slot behind a step that is within its time limit do not count, nor do runs at a gate; runs that no worker has looked at always do. Every part
 * reads a few rows of an index, however many runs there are.
 */
export async function findStalledEnvironments(db: Database): Promise<StalledEnvironment[]> {
  const { rows } = await sql<StalledEnvironment>`
    with unfinished as materialized (
      select p.environment_id, a.*
      from pipelines p
      cross join lateral (
        (select id, status, updated_at from actions
          where pipeline_id = p.id and status in ('queued', 'waiting') and not has_place and gate is null
          order by id limit ${MAX_COUNTED})
        union all
        (select id, status, updated_at from actions
          where pipeline_id = p.id and status in ('queued', 'waiting') and has_place limit ${MAX_COUNTED})
        union all
        (select id, status, updated_at from actions where pipeline_id = p.id and status = 'in-progress'
          order by id limit ${MAX_COUNTED})
      ) as a
    ),
    started as materialized (
      select u.environment_id, max(t.updated_at) as moved_at, bool_or(exists (
        select from jsonb_array_elements(t.steps) as step
        left join pipeline_steps planned on planned.id = (step ->> 'step_id')::bigint
        where step ->> 'status' = 'in-progress' and now() < (step ->> 'started_at')::timestamptz + interval '1 second'
          * greatest(coalesce(planned.timeout_seconds, 600), (planned.health_check ->> 'within_seconds')::int)
      )) as is_busy
      from unfinished u join targets t on t.action_id = u.id
      where u.status = 'in-progress' and t.started_at is not null
      group by u.environment_id
    ),
    waiting as (
      select u.environment_id, min(u.updated_at) as since, count(*) as waiting
      from unfinished u left join started s using (environment_id)
      where u.status = 'queued' or s.is_busy is not true
      group by u.environment_id
      having min(u.updated_at) < now() - ${STALLED_AFTER_SECONDS} * interval '1 second'
    ),
    dated as (
      select w.environment_id, w.waiting, greatest(w.since, s.moved_at, (
        select max(ended.completed_at)
        from pipelines p
        cross join unnest(array['completed', 'failed']) as e (status)
        cross join lateral (
          select completed_at from actions where pipeline_id = p.id and status = e.status
          order by id desc limit ${NEWEST}
        ) as ended
        where p.environment_id = w.environment_id
      )) as since
      from waiting w left join started s using (environment_id)
    )
    select environment_id, since, waiting from dated
    where since < now() - ${STALLED_AFTER_SECONDS} * interval '1 second'
    order by since, environment_id`.execute(db)
  return rows
}
