import { sql } from 'kysely'
import { assignSlots, type EnqueueTargets, leaveGate, supersede } from '#engine/scheduling/assign-slots.ts'
import type { ScheduledAction } from '#engine/scheduling/scheduled-action.ts'
import type { SchedulingPass } from '#engine/scheduling/scheduling-pass.ts'
import { hasBegun } from '#engine/scheduling/unapproved-runs.ts'
import type { State } from '#model/actions/status.ts'

// The ends of waiting for approval. Each is part of a pass, under the lock of the environment: of two that come at the same
// time, the second one finds that the run no longer waits.

/** The run, or the targets of a started run that need approval again. */
export function waitsForApproval({ reason, targets }: ScheduledAction): boolean {
  return reason === 'WAITING_APPROVAL' || targets.some((target) => target.reason === 'WAITING_APPROVAL')
}

/** Enough people have approved what ships now. */
export async function openGate(
  pass: SchedulingPass,
  action: ScheduledAction,
  enqueueTargets: EnqueueTargets,
): Promise<void> {
  await sql`
    update approval_requests set approved_at = ${pass.at}, expires_at = null, due_at = null
    where action_id = ${action.id}`.execute(pass.trx)
  action.isApproved = true
  const wasAtGate = action.reason === 'WAITING_APPROVAL'
  await leaveGate(pass, action)
  await pass.flush()
  if (wasAtGate && (await isLatestOnly(pass, action))) await supersede(pass, [action.pipelineId])
  await assign(pass, action, enqueueTargets)
}

/** `whole`: of a run that has not begun; `part`: of the targets that wait while others have started. */
export async function endWaiting(
  pass: SchedulingPass,
  action: ScheduledAction,
  { whole, part }: { whole: State; part: State },
  enqueueTargets: EnqueueTargets,
): Promise<void> {
  await sql`
    update approval_requests set approved_at = null, expires_at = null, due_at = null
    where action_id = ${action.id}`.execute(pass.trx)
  if (hasBegun(action)) {
    const waiting = action.targets.filter(({ reason }) => reason === 'WAITING_APPROVAL')
    await pass.endIdle(waiting, part)
  } else {
    await pass.endIdle(action.targets, whole)
    pass.moveAction(action, whole)
  }
  await assign(pass, action, enqueueTargets)
}

function assign(pass: SchedulingPass, { id, pipelineId, targets }: ScheduledAction, enqueue: EnqueueTargets) {
  const serverIds = targets.map(({ serverId }) => serverId)
  return assignSlots(pass, { actionIds: [id], pipelineIds: [pipelineId], serverIds }, enqueue)
}

async function isLatestOnly({ trx }: SchedulingPass, { id }: ScheduledAction): Promise<boolean> {
  const { rows } = await sql`
    select from actions a join pipelines p on p.id = a.pipeline_id
    where a.id = ${id} and p.queue_policy = 'latest' and a.trigger_type = 'hook' and a.triggered_by is null`.execute(
    trx,
  )
  return rows.length > 0
}
