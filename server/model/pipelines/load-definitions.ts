import { sql } from 'kysely'
import type { Database } from '#platform/database/connect.ts'
import type { PipelineDefinition } from './plan.ts'

/** Pipelines that are there, with everything that a plan needs, in one statement for any number of them. */
export async function loadDefinitions(
  db: Database,
  ids: readonly number[],
): Promise<Map<number, PipelineDefinition>> {
  const { rows } = await sql<PipelineDefinition>`
    select p.id, p.environment_id as "environmentId", p.operation, e.archived_at is not null as "isArchived",
      p.queue_policy as "queuePolicy", p.max_parallel_actions as "maxParallelActions", p.rollout,
      exists (select from pipeline_run_after after where after.after_pipeline_id = p.id) as "hasDependents",
      coalesce((
        select json_agg(json_build_object('id', s.id, 'name', s.name) order by s.id) from servers s
        where s.id = p.server_id
          or s.id in (select link.server_id from application_servers link where link.application_id = p.application_id)
      ), '[]') as servers,
      coalesce((
        select json_agg(json_build_object('id', step.id, 'name', step.name, 'description', step.description) order by step.position)
        from pipeline_steps step where step.pipeline_id = p.id and step.removed_at is null
      ), '[]') as steps
    from pipelines p join environments e on e.id = p.environment_id
    where p.id = any(${ids}::bigint[]) and p.deleted_at is null`.execute(db)
  return new Map(rows.map((row) => [row.id, row]))
}
