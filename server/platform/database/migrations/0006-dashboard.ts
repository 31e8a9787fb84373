import { type Kysely, sql } from 'kysely'

export const toleratedBy = '0.1.0'

// What the dashboard needs: sessions of browsers, runs counted by day, which workers live, and ways to find what
// went wrong lately without reading everything.
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements: string[] = [
  // Only these live on when they are used.
  'alter table tokens add column in_cookie boolean not null default false',
  `alter table tokens add constraint tokens_cookie check (not in_cookie or kind = 'access')`,

  // Runs that ended before a moment, added up once and for all: an end is final, and actions are never deleted.
  // Durations are kept in classes, of which any number can be added up and still have a median.
  `create table run_days (
    environment_id bigint not null references environments,
    day date not null,
    status text not null check (status in ('completed', 'failed', 'skipped')),
    duration_class smallint not null,
    runs bigint not null check (runs > 0),
    primary key (environment_id, day, status, duration_class)
  )`,
  `create table counted_runs (
    only_row boolean primary key default true check (only_row),
    until timestamptz(3) not null
  )`,
  // Older ones are not shown, so they need not be counted.
  `insert into counted_runs (until) values (date_trunc('day', now(), 'UTC') - interval '30 days')`,
  'create index actions_ended on actions (completed_at) where completed_at is not null',
  `create index actions_failed on actions (environment_id, completed_at) where status = 'failed'`,

  'create index hooks_environment on hooks (environment_id) where deleted_at is null',
  // Ids of requests begin with their time.
  `create index deliveries_failed on deliveries (hook_id, last_request_id) where state = 'failed'`,

  // Not logged: what it says is worth nothing after a crash.
  `create unlogged table workers (
    id uuid primary key,
    started_at timestamptz(3) not null default now(),
    seen_at timestamptz(3) not null default now()
  )`,
]
