import { sql } from 'kysely'
import type { Database } from '#platform/database/connect.ts'

/** As many runs like this one, each after it: where thousands wait. Returns their ids, in order. */
export async function copyRuns(db: Database, actionId: number, count: number): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    with copied as (
      insert into actions (environment_id, pipeline_id, type, status, status_reason_code, trigger_type, triggered_by, hook_id,
        hook_request_id, gate, branch, deployment)
      select environment_id, pipeline_id, type, status, status_reason_code, trigger_type, triggered_by, hook_id,
        hook_request_id, gate, branch, deployment
      from actions cross join generate_series(1, ${count}::int) where id = ${actionId}
      returning id
    ), targets as (
      insert into targets (action_id, server_id, position, batch, status, status_reason_code, steps)
      select copied.id, t.server_id, t.position, t.batch, t.status, t.status_reason_code, t.steps
      from copied cross join targets t where t.action_id = ${actionId}
    )
    select id from copied order by id`.execute(db)
  return rows.map(({ id }) => id)
}
