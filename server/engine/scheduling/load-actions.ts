import { sql } from 'kysely'
import type { Database } from '#platform/database/connect.ts'
import type { LiveAction } from './live-action.ts'

/** Actions of one environment with their targets, as scheduling needs them. */
export async function loadActions(
  db: Database,
  environmentId: number,
  ids: readonly number[],
): Promise<LiveAction[]> {
  if (ids.length === 0) return []
  const { rows } = await sql<LiveAction>`
    select a.id, a.pipeline_id as "pipelineId", a.type, a.parent_id as "parentId", a.status,
      a.status_reason_code as reason, a.started_at as "startedAt", a.has_place as "hasPlace",
      coalesce((p.rollout ->> 'max_failed')::int, 0) as "maxFailed", p.application_id as "applicationId",
      (select json_agg(json_build_object('id', t.id, 'actionId', t.action_id, 'batch', t.batch,
          'serverId', t.server_id, 'status', t.status, 'reason', t.status_reason_code,
          'startedAt', t.started_at, 'steps', t.steps) order by t.position)
        from targets t where t.action_id = a.id) as targets
    from actions a join pipelines p on p.id = a.pipeline_id
    where a.id = any(${ids}::bigint[]) and a.environment_id = ${environmentId}
    order by a.id`.execute(db)
  return rows
}
