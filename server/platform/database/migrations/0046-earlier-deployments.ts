import { type Kysely, sql } from 'kysely'

export const toleratedBy = '0.1.0'

// Deployments from before they were recorded, as far as their runs are still stored. Apart from the migration before, which
// locks a table: this one reads every deploy.
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw(statement).execute(db)
}

const stepTime = (name: string, isDone: string) => `(jsonb_path_query_first(t.steps,
  '$[*] ? (@.name == "${name}" && ${isDone})') ->> 'completed_at')::timestamptz`

/** A step that timed out may have switched; what was live before is stored only then. */
const ACTIVATED_AT = `case when t.live_before is null
  then ${stepTime('activate-new-release', '@.status == "completed"')}
  else ${stepTime('activate-new-release', '@.completed_at != null')} end`
const REVERTED_AT = stepTime('revert-release', '@.status == "completed"')

/** Git stores any number; PostgreSQL does not accept every year. */
const COMMITTED_AT = `case when a.commit ->> 'committed_at' ~ '^[12][0-9]{3}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}[.0-9]*Z$'
  then (a.commit ->> 'committed_at')::timestamptz end`

// What a server served before is stored since reverts exist; before that it was the commit of the switch before.
const statement = `
  with switched as (
    select a.id as action_id, p.application_id, a.environment_id,
      coalesce(a.deployment ->> 'type' = 'rollback', false) as is_rollback, a.commit ->> 'hash' as commit_sha,
      ${COMMITTED_AT} as committed_at, t.server_id, t.live_before, ${ACTIVATED_AT} as activated_at,
      ${REVERTED_AT} as reverted_at, case when a.completed_at is not null then a.status_reason_code end as result,
      a.completed_at as ended_at
    from actions a join pipelines p on p.id = a.pipeline_id join targets t on t.action_id = a.id
    where a.type = 'deploy' and p.application_id is not null
  ), compared as (
    select *, case when live_before is null then lag(commit_sha) over (
      partition by application_id, server_id order by activated_at, action_id) else live_before ->> 'commit_sha' end as replaced
    from switched where activated_at is not null
  )
  insert into deployments (action_id, application_id, environment_id, is_rollback, commit_sha, committed_at, has_new_commit,
    server_ids, reverted_server_ids, first_activated_at, last_activated_at, reverted_at, result, ended_at)
  select action_id, application_id, environment_id, is_rollback, commit_sha, committed_at,
    bool_or(replaced is distinct from commit_sha), array_agg(server_id order by activated_at, server_id),
    coalesce(array_agg(server_id order by reverted_at, server_id) filter (where reverted_at is not null), '{}'),
    min(activated_at), max(activated_at), max(reverted_at), result, ended_at
  from compared
  group by action_id, application_id, environment_id, is_rollback, commit_sha, committed_at, result, ended_at
  on conflict do nothing`
