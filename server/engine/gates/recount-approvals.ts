// An approval counts only while the person may approve. A run that waits because one did not count opens when it does again,
// without another decision: roles, members, accounts and settings change in many places, and none of them knows of runs.
import { sql } from 'kysely'
import { findCounted, loadApprovals, lookAgain } from '#engine/scheduling/verify-approval.ts'
import { REQUIRED } from '#model/gates/approval-sql.ts'
import type { Database } from '#platform/database/connect.ts'

const RECOUNTED_AT_ONCE = 200

type Row = { actionId: number; environmentId: number }

/** Of runs that wait although as many people as required have approved: those that a worker opens now. */
export async function recountApprovals(db: Database): Promise<void> {
  const { rows } = await sql<Row>`
    with approved as materialized (
      select r.action_id, r.environment_id, count(*) as approvals
      from approval_requests r join approvals d on d.action_id = r.action_id
      where r.expires_at is not null and r.due_at is null and d.lapsed_at is null and d.decision = 'approved'
      group by r.action_id
    )
    select a.id as "actionId", a.environment_id as "environmentId"
    from approved join actions a on a.id = approved.action_id
    where approved.approvals >= coalesce(${REQUIRED}, 0)
    order by random() limit ${RECOUNTED_AT_ONCE}`.execute(db)
  for (const runs of Map.groupBy(rows, ({ environmentId }) => environmentId).values()) {
    const ids = runs.map(({ actionId }) => actionId)
    const enough: number[] = []
    for (const state of (await loadApprovals(db, ids)).values()) {
      const counted = await findCounted(db, state)
      if (!state.demand || counted.length >= state.demand.required) enough.push(state.actionId)
    }
    await lookAgain(db, enough)
  }
}
