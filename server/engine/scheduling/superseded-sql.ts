import { type RawBuilder, sql } from 'kysely'

/** Of a row `a` of `actions`: not started by a person, replays included. */
export const IS_OF_HOOK: RawBuilder<boolean> = sql`(a.trigger_type = 'hook' and a.triggered_by is null)`

/** Of a row `a` of `actions`: a newer run has superseded it, and it has yet to be skipped. */
export const IS_SUPERSEDED: RawBuilder<boolean> = sql`(a.started_at is null and ${IS_OF_HOOK} and exists (
  select from superseded_pipelines s where s.pipeline_id = a.pipeline_id and a.id < s.newest))`
