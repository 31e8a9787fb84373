import { type Kysely, sql } from 'kysely'

export const toleratedBy = '0.1.0'
export const locks = ['actions', 'targets']

// Gates between the creation of a run and its queue. A run at a gate has no slot, and what assigns slots does not see it:
// its indexes leave it out. A process of an older release knows no gates; the constraint keeps it from starting such a run.
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

/** The reason says which gate is closed. */
const GATE = `case status_reason_code when 'WAITING_CHECKS' then 'checks' when 'WAITING_APPROVAL' then 'approval'
  when 'WAITING_FREEZE' then 'freeze' end`

const statements: string[] = [
  `alter table actions add column gate text, add column branch text,
    add constraint actions_gate check (gate is not distinct from ${GATE} and (gate is null or not has_place))`,
  `alter table targets add column gate text,
    add constraint targets_gate check (gate is not distinct from ${GATE})`,

  'drop index actions_without_place',
  `create index actions_without_place on actions (pipeline_id, id)
    where status in ('queued', 'waiting') and not has_place and gate is null`,
  'create index actions_at_gate on actions (gate, pipeline_id, id) where gate is not null',
  // Of ended runs only: storing a call costs no more. The others are few, and found by their status.
  `create index actions_branch on actions (pipeline_id, branch, id)
    where branch is not null and completed_at is not null`,
  'drop index targets_waiting',
  `create index targets_waiting on targets (server_id, action_id) where status = 'waiting' and gate is null`,

  `create or replace function
    is_sound_state(status text, reason text, started_at timestamptz, completed_at timestamptz)
  returns boolean language plpgsql immutable as $$
    begin
      return case status
          when 'pending' then reason = 'PENDING'
          when 'waiting' then reason in ('WAITING_CONCURRENCY_PIPELINE', 'WAITING_CONCURRENCY_TARGET',
            'WAITING_WORKER', 'WAITING_CHECKS', 'WAITING_APPROVAL', 'WAITING_FREEZE')
          when 'queued' then reason = 'QUEUED'
          when 'in-progress' then reason in ('IN_PROGRESS', 'PENDING', 'REVERTING')
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
