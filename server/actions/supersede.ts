import { sql, type Transaction } from 'kysely'
import type { Tables } from '#database/tables.ts'
import { SUPERSEDED } from './status.ts'

/**
 * Skips the runs of these pipelines that calls have started, that have not begun, and that a newer one
 * replaces. Runs that a person asked for stay.
 */
export async function supersedeOlder(
  trx: Transaction<Tables>,
  pipelineIds: readonly number[],
): Promise<void> {
  const { status, reason } = SUPERSEDED
  await sql`
    with newest as (
      select pipeline_id, max(id) as id from actions
      where pipeline_id = any(${pipelineIds}::bigint[]) and trigger_type = 'hook'
        and status in ('pending', 'waiting', 'queued') and triggered_by is null
      group by pipeline_id
    ), older as (
      select a.id, a.status from actions a join newest on newest.pipeline_id = a.pipeline_id
      where a.id < newest.id and a.trigger_type = 'hook' and a.status in ('pending', 'waiting', 'queued')
        and a.triggered_by is null
      for update of a
    ), skipped_actions as (
      update actions set status = ${status}, status_reason_code = ${reason}, completed_at = now(), updated_at = now()
      from older where actions.id = older.id
    ), skipped_targets as (
      update targets set status = ${status}, status_reason_code = ${reason}, completed_at = now(), updated_at = now(),
        steps = (select jsonb_agg(step || jsonb_build_object('status', ${status}::text, 'reason', ${reason}::text,
            'completed_at', to_char(now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
            'updated_at', to_char(now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) order by step -> 'order')
          from jsonb_array_elements(steps) as step)
      from older where targets.action_id = older.id
    )
    insert into events (action_id, previous_status, status, status_reason_code)
    select id, status, ${status}, ${reason} from older order by id`.execute(trx)
}
