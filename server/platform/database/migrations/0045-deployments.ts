import { type Kysely, sql } from 'kysely'

export const toleratedBy = '0.1.0'
export const locks = ['applications']

// What insights are computed from: one row per run that switched a server. It has no reference to the run, because it stays
// when retention removes that.
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const STATUSES = `array['pending', 'waiting', 'queued', 'in-progress', 'completed', 'failed', 'skipped']`

const statements: string[] = [
  `create table deployments (
    action_id bigint primary key,
    application_id bigint not null references applications,
    environment_id bigint not null,
    is_rollback boolean not null,
    commit_sha text,
    committed_at timestamptz(3),
    has_new_commit boolean not null,
    server_ids bigint[] not null check (cardinality(server_ids) > 0),
    reverted_server_ids bigint[] not null default '{}',
    first_activated_at timestamptz(3) not null,
    last_activated_at timestamptz(3) not null,
    reverted_at timestamptz(3),
    result text,
    ended_at timestamptz(3),
    check ((result is null) = (ended_at is null)),
    check ((reverted_at is null) = (reverted_server_ids = '{}'))
  )`,
  // A revert may be on a later day than the activation.
  `create index deployments_application on deployments (application_id, greatest(last_activated_at, reverted_at))`,
  `create index deployments_environment on deployments (environment_id, greatest(last_activated_at, reverted_at))`,

  // Null: since the application was created.
  'alter table applications add column deployments_since timestamptz(3)',
  `update applications app set deployments_since = greatest(app.created_at, coalesce((
    select min(a.created_at) from pipelines p cross join unnest(${STATUSES}) as s (status)
    cross join lateral (
      select id from actions where pipeline_id = p.id and status = s.status order by id limit 1) as oldest
    join actions a on a.id = oldest.id
    where p.application_id = app.id and p.operation = 'deploy'), now()))`,
]
