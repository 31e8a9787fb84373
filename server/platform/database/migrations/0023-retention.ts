import { type Kysely, sql } from 'kysely'

export const toleratedBy = '0.1.0'
export const locks = ['hook_requests', 'deliveries', 'actions', 'applications', 'servers', 'environments']

// What removing old data needs: how long an environment keeps what, which releases are on the disks of servers, how far
// the removal has come, and a way to find everything that belongs to a run without reading whole tables.
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements: string[] = [
  // Null: the defaults of the installation.
  `alter table environments add column retention jsonb check (jsonb_typeof(retention) = 'object')`,

  // Releases that may be on the disk of a server; runs that made them are kept. Every release of the past counts until the
  // next deploy to the server lists what is really there.
  `create table releases_on_disk (
    application_id bigint not null references applications,
    release_name text not null,
    server_id bigint not null references servers,
    recorded_at timestamptz(3) not null default now(),
    primary key (application_id, release_name, server_id)
  )`,
  `insert into releases_on_disk (application_id, release_name, server_id, recorded_at)
    select distinct p.application_id, t.release_name, t.server_id, '2000-01-01T00:00:00Z'::timestamptz
    from targets t join actions a on a.id = t.action_id join pipelines p on p.id = a.pipeline_id
    where t.release_name is not null and p.application_id is not null`,

  // The logs of all actions of the environment before this id have been removed, as far as they were to be.
  `create table retention_progress (
    environment_id bigint primary key references environments,
    logs_before bigint not null
  )`,
  // Bodies of all hook requests before this id have been removed; and what was removed since the installation began.
  `create table retention_totals (
    only_row boolean primary key default true check (only_row),
    bodies_before uuid not null default '00000000-0000-0000-0000-000000000000',
    runs bigint not null default 0,
    logs bigint not null default 0,
    requests bigint not null default 0,
    bodies bigint not null default 0,
    finished_at timestamptz(3)
  )`,
  'insert into retention_totals default values',

  // Whoever deletes a row looks for rows that refer to it.
  'create index actions_retry on actions (retry_of) where retry_of is not null',
  'create index applications_live on applications (live_action_id) where live_action_id is not null',
  // Also those that are not pending, which are removed with their action.
  'drop index deliveries_order',
  'create index deliveries_order on deliveries (action_id, event_id)',
  // A record of a call or a delivery may be removed while others still name it.
  'alter table actions drop constraint actions_hook_request_id_fkey',
  'alter table hook_requests drop constraint hook_requests_retry_of_fkey',
]
