import { type RawBuilder, sql } from 'kysely'

/**
 * SQL: a server took this release of an application back, or could not. Known from the runs, because what is stored about a
 * disk goes when the release does. `name` is that of the action, whatever a server calls it.
 */
export function wasReverted(
  applicationId: RawBuilder<unknown>,
  name: RawBuilder<unknown>,
): RawBuilder<boolean> {
  return sql`exists (
    select from actions bad
    join pipelines of_bad on of_bad.id = bad.pipeline_id
    join targets on_server on on_server.action_id = bad.id
    where bad.release_name = ${name} and of_bad.application_id = ${applicationId}
      and (on_server.status_reason_code in ('REVERTING', 'FAILED_REVERTED', 'FAILED_REVERT')
        or (on_server.status_reason_code = 'FAILED_CANCELLED' and jsonb_path_exists(on_server.steps,
          '$[*] ? (@.step_id == null && @.status == "completed")'))))`
}
