import { type Kysely, sql } from 'kysely'

export const toleratedBy = '0.1.0'
export const locks = ['targets', 'servers', 'workers']

// Which machine a local server is: workers have names, and such a server may name one. Workers of older releases
// have no name. The table is logged, so that a standby that becomes the primary knows them.
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements: string[] = [
  'alter table workers set logged',
  `alter table workers
    add column name text,
    add column version text,
    add column capacity integer,
    add column running_targets integer not null default 0,
    add column draining_since timestamptz(3)`,

  `alter table servers
    add column worker_name text,
    add constraint servers_worker_name check (worker_name is null or provider_code = 'local')`,

  // Where the last attempt at a target ran.
  'alter table targets add column worker_name text',

  `create or replace function
    is_sound_state(status text, reason text, started_at timestamptz, completed_at timestamptz)
  returns boolean language plpgsql immutable as $$
    begin
      return case status
          when 'pending' then reason = 'PENDING'
          when 'waiting' then reason in ('WAITING_CONCURRENCY_PIPELINE', 'WAITING_CONCURRENCY_TARGET',
            'WAITING_WORKER')
          when 'queued' then reason = 'QUEUED'
          when 'in-progress' then reason in ('IN_PROGRESS', 'PENDING')
          when 'completed' then reason = 'COMPLETED'
          when 'skipped' then reason = 'SKIPPED'
          when 'failed' then reason in ('FAILED', 'FAILED_TIMEOUT', 'FAILED_CANCELLED', 'FAILED_WORKER_LOST',
            'FAILED_UNREACHABLE', 'FAILED_SOURCE')
          else false
        end
        and (completed_at is not null) = (status in ('completed', 'failed', 'skipped'))
        and (status not in ('in-progress', 'completed') or started_at is not null)
        and (status not in ('pending', 'waiting', 'queued', 'skipped') or started_at is null);
    end $$`,

  `create index targets_without_worker on targets (server_id, action_id) where status_reason_code = 'WAITING_WORKER'`,
]
