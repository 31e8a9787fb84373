import { type RawBuilder, sql } from 'kysely'
import type { ApprovalTerms } from '#platform/database/tables.ts'

// What approvals are about, as expressions about a row `a` of `actions`.

const STEP_IDS = sql`jsonb_path_query_array(t.steps, '$[*].step_id ? (@ != null)')`

const APPLICATION = sql`(
  select jsonb_build_array(app.folder, app.repository, app.root_directory, app.install_dependencies_command,
    app.build_command, app.shared_paths, app.submodules)
  from pipelines p join applications app on app.id = p.application_id where p.id = a.pipeline_id)`

/** Sealed values change whenever they are stored: what has the same ones is unchanged, what differs has to be looked at. */
const VARIABLES = sql`(
  select jsonb_agg(jsonb_build_array(v.name, v.hidden, md5(v.value)) order by v.id)
  from application_variables v join pipelines p on p.application_id = v.application_id where p.id = a.pipeline_id)`

/**
 * Of everything that an approval covers, except what is live on the servers. Two runs of this expression agree only while
 * nothing of that has changed: the lock compares it, and a worker finds out what a difference means.
 */
export const STAMP: RawBuilder<string> = sql`md5(jsonb_build_array(
  a.commit ->> 'hash', a.release_name is not null and a.deployment ->> 'type' = 'rollback', coalesce(a.variables, a.hook_parsed_variables),
  (select jsonb_build_array(p.rollout, p.on_failure) from pipelines p where p.id = a.pipeline_id),
  (select jsonb_agg(jsonb_build_array(t.batch, ${STEP_IDS}, s.id, s.provider_code, s.host, s.port, s.login_name,
      s.root_directory, s.worker_name) order by t.position)
    from targets t join servers s on s.id = t.server_id where t.action_id = a.id),
  ${APPLICATION}, ${VARIABLES})::text)`

/** Of what a rollback runs on servers: steps, commands, health check, variables. */
export const ROLLBACK_STAMP: RawBuilder<string> = sql`md5(jsonb_build_array(
  (select ${STEP_IDS} from targets t where t.action_id = a.id order by t.position limit 1),
  ${APPLICATION}, ${VARIABLES})::text)`

/** The settings that are about the run: those that its environment has had since it was created, until it started. */
export const APPLIES = sql`x.environment_id = a.environment_id and (x.until is null or x.until > a.created_at)
  and (a.started_at is null or x.since <= a.started_at)
  and (jsonb_typeof(x.terms -> 'operations') is distinct from 'array' or x.terms -> 'operations' ? a.type)
  and (a.deployment ->> 'type' is distinct from 'rollback' or (x.terms ->> 'rollbacks')::boolean
    or coalesce(a.variables, '{}') <> '{}'
    or not exists (select from started_settings s where s.pipeline_id = a.pipeline_id and s.stamp = ${ROLLBACK_STAMP}))`

export const NEEDS_APPROVAL: RawBuilder<boolean> = sql`exists (select from approval_terms x where ${APPLIES})`

export const IS_APPROVED: RawBuilder<boolean> = sql`exists (
  select from approval_requests r where r.action_id = a.id and r.approved_at is not null)`

export const TERMS: RawBuilder<ApprovalTerms[]> = sql`coalesce((
  select json_agg(x.terms order by x.id) from approval_terms x where ${APPLIES}), '[]')`

/** How many people the strictest of them requires. */
export const REQUIRED: RawBuilder<number> = sql`(
  select max((x.terms ->> 'required')::int) from approval_terms x where ${APPLIES})`

/** Whether runs of a pipeline `p` that a call starts now need approval. */
export const PIPELINE_NEEDS_APPROVAL: RawBuilder<boolean> = sql`exists (
  select from approval_terms x where x.environment_id = p.environment_id and x.until is null
    and (jsonb_typeof(x.terms -> 'operations') is distinct from 'array' or x.terms -> 'operations' ? p.operation))`
