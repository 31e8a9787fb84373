import { type Kysely, sql } from 'kysely'

export const toleratedBy = '0.1.0'
export const locks = ['targets', 'actions', 'step_log_chunks', 'workers']

// Steps that run on the server by themselves, and may be continued by another attempt. A process of an older release
// neither starts nor continues one: `workers.reattaches` says which processes do.
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements: string[] = [
  `create table detached_steps (
    token text primary key,
    target_id bigint not null,
    step_order integer not null,
    server_id bigint not null,
    attempt integer not null,
    run_as_user text,
    log_from bigint not null default 0,
    state_path text,
    acknowledged_at timestamptz(3),
    ended_at timestamptz(3)
  )`,
  `create unique index detached_steps_current on detached_steps (target_id, step_order) where ended_at is null`,
  `create index detached_steps_ended on detached_steps (ended_at) where ended_at is not null`,
  // Why steps end with the connection there.
  `create table attached_servers (server_id bigint primary key, reason text not null)`,
  `create index targets_reconnecting on targets (id) where status_reason_code = 'RECONNECTING'`,
  `alter table step_log_chunks add column raw_offset bigint, add column raw_skip bigint`,
  `alter table targets add column reattached integer not null default 0`,
  `alter table workers add column reattaches boolean not null default false`,

  `create or replace function
    is_sound_state(status text, reason text, started_at timestamptz, completed_at timestamptz)
  returns boolean language plpgsql immutable as $$
    begin
      return case status
          when 'pending' then reason = 'PENDING'
          when 'waiting' then reason in ('WAITING_CONCURRENCY_PIPELINE', 'WAITING_CONCURRENCY_TARGET',
            'WAITING_WORKER', 'WAITING_CHECKS', 'WAITING_APPROVAL', 'WAITING_FREEZE')
          when 'queued' then reason = 'QUEUED'
          when 'in-progress' then reason in ('IN_PROGRESS', 'PENDING', 'REVERTING', 'RECONNECTING')
          when 'completed' then reason = 'COMPLETED'
          when 'skipped' then reason in ('SKIPPED', 'SKIPPED_UNCHANGED', 'SKIPPED_OUTDATED', 'SKIPPED_EXPIRED')
          when 'failed' then reason in ('FAILED', 'FAILED_TIMEOUT', 'FAILED_CANCELLED', 'FAILED_WORKER_LOST',
            'FAILED_UNREACHABLE', 'FAILED_SOURCE', 'FAILED_UNHEALTHY', 'FAILED_REVERTED', 'FAILED_REVERT',
            'FAILED_CHECKS', 'FAILED_REJECTED', 'FAILED_EXPIRED')
          else false
        end
        and (completed_at is not null) = (status in ('completed', 'failed', 'skipped'))
        and (status not in ('in-progress', 'completed') or started_at is not null)
        and (status not in ('pending', 'waiting', 'queued', 'skipped') or started_at is null);
    end $$`,
]
