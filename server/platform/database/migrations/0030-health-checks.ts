import { type Kysely, sql } from 'kysely'

export const toleratedBy = '0.1.0'
export const locks = ['applications', 'pipelines', 'pipeline_steps']

// How a release is checked once it is live: the application's check, the pipeline's own, and the one that a step of a run
// was planned with. Reasons of releases that fail it, are taken back, or are skipped because nothing has changed.
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements: string[] = [
  'alter table applications add column health_check jsonb',
  'alter table pipelines add column health_check jsonb',
  `alter table pipeline_steps add column health_check jsonb,
    add constraint pipeline_steps_health_check check (health_check is null or built_in)`,

  `create or replace function
    is_sound_state(status text, reason text, started_at timestamptz, completed_at timestamptz)
  returns boolean language plpgsql immutable as $$
    begin
      return case status
          when 'pending' then reason = 'PENDING'
          when 'waiting' then reason in ('WAITING_CONCURRENCY_PIPELINE', 'WAITING_CONCURRENCY_TARGET',
            'WAITING_WORKER')
          when 'queued' then reason = 'QUEUED'
          when 'in-progress' then reason in ('IN_PROGRESS', 'PENDING', 'REVERTING')
          when 'completed' then reason = 'COMPLETED'
          when 'skipped' then reason in ('SKIPPED', 'SKIPPED_UNCHANGED')
          when 'failed' then reason in ('FAILED', 'FAILED_TIMEOUT', 'FAILED_CANCELLED', 'FAILED_WORKER_LOST',
            'FAILED_UNREACHABLE', 'FAILED_SOURCE', 'FAILED_UNHEALTHY', 'FAILED_REVERTED', 'FAILED_REVERT')
          else false
        end
        and (completed_at is not null) = (status in ('completed', 'failed', 'skipped'))
        and (status not in ('in-progress', 'completed') or started_at is not null)
        and (status not in ('pending', 'waiting', 'queued', 'skipped') or started_at is null);
    end $$`,
]
