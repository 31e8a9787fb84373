import { sql } from 'kysely'
import { ANY_ID, newestInPartition } from '#model/actions/partition.ts'
import type { Database } from '#platform/database/connect.ts'
import type { ReasonCode, Status } from '#platform/database/tables.ts'
import type { CardServer } from './present-card.ts'
import type { CardRun } from './schemas.ts'

// What the cards of a few applications show; each is one statement for all of them.

/**
 * The servers that are linked to the applications. The health check of what is live is that of the run that switched to it; of
 * a release that is live again, that of the run that reverted to it.
 */
export async function findCardServers(db: Database, ids: readonly number[]): Promise<CardServer[]> {
  const { rows } = await sql<CardServer>`
    select link.application_id as "applicationId", live.action_id as "actionId", live.release_name as "releaseName",
      live.commit_sha as "commitSha", live.since, unknown.server_id is not null as "isUnknown",
      case when a.commit is not null
        then json_build_object('message', a.commit ->> 'message', 'url', a.commit ->> 'url') end as commit,
      (select step ->> 'status' from targets t cross join lateral jsonb_array_elements(t.steps) as step
        where t.action_id = coalesce(reverting.action_id, live.action_id) and t.server_id = link.server_id
          and step ->> 'name' = 'check-health' and step ->> 'status' <> 'skipped'
        order by (step ->> 'order')::int desc limit 1) as checked
    from application_servers link
    left join live_releases live using (application_id, server_id)
    left join unknown_live_releases unknown using (application_id, server_id)
    left join actions a on a.id = live.action_id
    left join lateral (
      select d.action_id from deployments d
      where d.application_id = live.application_id and d.reverted_server_ids @> array[live.server_id]
        and greatest(d.last_activated_at, d.reverted_at) >= live.since - interval '1 minute' and d.action_id > live.action_id
      order by d.action_id desc limit 1
    ) as reverting on true
    where link.application_id = any(${ids}::bigint[])`.execute(db)
  return rows
}

/** Oldest first. `isChecked`: its runs check the health of what they deploy. */
export async function findCardPipelines(db: Database, ids: readonly number[]) {
  const { rows } = await sql<{
    id: number
    name: string
    operation: string
    applicationId: number
    isChecked: boolean
  }>`
    select p.id, p.name, p.operation, p.application_id as "applicationId",
      coalesce(p.health_check, app.health_check) is not null as "isChecked"
    from pipelines p join applications app on app.id = p.application_id
    where p.application_id = any(${ids}::bigint[]) and p.deleted_at is null order by p.id`.execute(db)
  return rows
}

const MAX_RUNS = 10

type RunRow = Pick<CardRun, 'id' | 'kind' | 'started_at' | 'completed_at' | 'created_at'> & {
  applicationId: number
  pipelineId: number
  pipelineName: string
  status: Status
  reason: ReasonCode
}

/** Of each application, the newest runs, the newest of those in progress, and the newest of each pipeline; newest first. */
export async function findCardRuns(db: Database, ids: readonly number[]): Promise<RunRow[]> {
  const newest = newestInPartition(['pipeline_id', 'status'], { ids: ANY_ID, limit: MAX_RUNS })
  const { rows } = await sql<RunRow>`
    with heads as (
      select heads.id, row_number() over (partition by partition.application_id order by heads.id desc) as place,
        row_number() over (partition by partition.pipeline_id order by heads.id desc) = 1 as "isNewest",
        partition.status = 'in-progress' as "isRunning"
      from (
        select p.application_id, p.id as pipeline_id, s.status from pipelines p,
          unnest(array['pending', 'waiting', 'queued', 'in-progress', 'completed', 'failed', 'skipped']) as s (status)
        where p.application_id = any(${ids}::bigint[])
      ) as partition, lateral ${newest} as heads
    )
    select a.id, p.application_id as "applicationId", a.status, a.status_reason_code as reason,
      coalesce(case when a.type = 'deploy' then a.deployment ->> 'type' end, a.type) as kind,
      p.id as "pipelineId", p.name as "pipelineName", a.started_at, a.completed_at, a.created_at
    from actions a join pipelines p on p.id = a.pipeline_id
    where a.id = any(array(select id from heads where place <= ${MAX_RUNS}::bigint or "isNewest" or "isRunning"))
    order by a.id desc`.execute(db)
  return rows
}
