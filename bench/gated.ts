// What `--gated` adds to a bench: its pipeline is in an environment that requires approval, and many runs wait for it.
import { sql } from 'kysely'
import { STAMP } from '#model/gates/approval-sql.ts'
import type { Database } from '#platform/database/connect.ts'
import type { TestTree } from '#test/support/world.ts'
import { send } from './send.ts'

/** Runs that have started continue without. */
export async function requireApproval(url: string, { environmentId, owner }: TestTree): Promise<void> {
  const body = { approval: { not_the_starter: false } }
  const { status } = await send('PUT', `${url}/environments/${environmentId}`, owner.token, body)
  if (status !== 200) throw new Error(`Approval was not required: ${status}`)
}

/** So many runs that people can approve: a worker has found out what they ship. */
export async function storeAtGate(
  db: Database,
  { environmentId, pipelineId }: { environmentId: number; pipelineId: number },
  count: number,
): Promise<void> {
  await sql`
    with stored as (
      insert into actions (environment_id, pipeline_id, type, status, status_reason_code, trigger_type, gate)
      select p.environment_id, p.id, p.operation, 'waiting', 'WAITING_APPROVAL', 'manual', 'approval'
      from pipelines p, generate_series(1, ${count}::int) where p.id = ${pipelineId} returning id
    ), planned as (
      insert into targets (action_id, position, server_id, status, status_reason_code, steps)
      select stored.id, 1, (select min(id) from servers where environment_id = ${environmentId}), 'pending', 'PENDING', '[]'
      from stored
    )
    insert into approval_requests (action_id, environment_id, pipeline_id, subject, stamp, shown, verified, asked_at,
      expires_at, due_at)
    select id, ${environmentId}, ${pipelineId}, 'subject', 'stamp', '{}', '{}', now(), now() + interval '1 day', null
    from stored`.execute(db)
}

/** The runs that wait for a slot do so after a person has approved them. */
export async function approveWaiting(db: Database, { environmentId, owner }: TestTree): Promise<void> {
  await sql`
    with approved as (
      insert into approval_requests (action_id, environment_id, pipeline_id, subject, stamp, shown, verified, approved_at,
        due_at)
      select a.id, a.environment_id, a.pipeline_id, 'subject', ${STAMP}, '{}', '{}', now(), null from actions a
      where a.environment_id = ${environmentId} and a.gate is null and a.status = 'waiting'
      returning action_id
    )
    insert into approvals (action_id, user_id, decision, subject)
    select action_id, ${owner.id}, 'approved', 'subject' from approved`.execute(db)
}

/** What calls have added is not prepared any further: the next party has the machine to itself. */
export async function stopPreparing(db: Database): Promise<void> {
  await sql`update approval_requests set due_at = null where due_at is not null`.execute(db)
}
