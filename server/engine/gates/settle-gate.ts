import { sql } from 'kysely'
import { assignSlots, type EnqueueTargets, leaveGate } from '#engine/scheduling/assign-slots.ts'
import { hasBegun } from '#engine/scheduling/gated-runs.ts'
import type { ScheduledAction } from '#engine/scheduling/scheduled-action.ts'
import type { SchedulingPass } from '#engine/scheduling/scheduling-pass.ts'
import { supersede } from '#engine/scheduling/superseded-runs.ts'
import { isStillApproved } from '#engine/scheduling/verify-approval.ts'
import type { State } from '#model/actions/status.ts'

// The ends of waiting for checks and for approval. Each is part of a pass, under the lock of the environment: of two that come at the same
// time, the second one finds that the run no longer waits.

/**
 * The run, which may wait for its checks at the same time, or the targets of a started run that need approval again; once
 * approved, targets keep the reason until they get a slot.
 */
export function waitsForApproval({ reason, targets, needsApproval, isApproved }: ScheduledAction): boolean {
  if (reason === 'WAITING_APPROVAL') return true
  if (reason === 'WAITING_CHECKS') return needsApproval && !isApproved
  return !isApproved && targets.some((target) => target.reason === 'WAITING_APPROVAL')
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
  // A later pass skips it.
  if (action.isSuperseded) return
  const wasAtGate = action.reason === 'WAITING_APPROVAL'
  await leaveGate(pass, action)
  await pass.flush()
  if (wasAtGate && (await isLatestOnly(pass, action))) await supersede(pass, action.pipelineId)
  await assign(pass, action, enqueueTargets)
}

/** Its checks are green, or a person let it through: it continues to the next gate. */
export async function openChecks(
  pass: SchedulingPass,
  action: ScheduledAction,
  enqueueTargets: EnqueueTargets,
): Promise<void> {
  action.needsChecks = false
  // A later pass skips it.
  if (action.isSuperseded) return
  const wasAtGate = action.reason === 'WAITING_CHECKS'
  // It may have been approved while it waited, for something else than what would start now.
  const serverIds = action.targets.map(({ serverId }) => serverId)
  if (wasAtGate && action.needsApproval && action.isApproved)
    action.isApproved = await isStillApproved(pass.trx, action.id, serverIds)
  await leaveGate(pass, action)
  await pass.flush()
  const isPast = wasAtGate && action.reason !== 'WAITING_APPROVAL'
  if (isPast && (await isLatestOnly(pass, action))) await supersede(pass, action.pipelineId)
  await assign(pass, action, enqueueTargets)
}

/** It never starts. */
export async function endAtChecks(
  pass: SchedulingPass,
  action: ScheduledAction,
  end: State,
  enqueueTargets: EnqueueTargets,
): Promise<void> {
  await pass.endIdle(action.targets, end)
  pass.moveAction(action, end)
  await assign(pass, action, enqueueTargets)
}

/** `whole`: of runs that have not begun; `part`: of the targets that wait while others have started. */
export async function endWaiting(
  pass: SchedulingPass,
  actions: readonly ScheduledAction[],
  { whole, part }: { whole: State; part: State },
  enqueueTargets: EnqueueTargets,
): Promise<void> {
  if (actions.length === 0) return
  await sql`
    update approval_requests set approved_at = null, expires_at = null, due_at = null
    where action_id = any(${actions.map(({ id }) => id)}::bigint[])`.execute(pass.trx)
  const begun = actions.filter(hasBegun)
  const waiting = begun.flatMap(({ targets }) =>
    targets.filter(({ reason }) => reason === 'WAITING_APPROVAL'),
  )
  await pass.endIdle(waiting, part)
  const idle = actions.filter((action) => !begun.includes(action))
  await pass.endIdle(
    idle.flatMap(({ targets }) => targets),
    whole,
  )
  for (const action of idle) pass.moveAction(action, whole)
  await assignAll(pass, actions, enqueueTargets)
}

const assign = (pass: SchedulingPass, action: ScheduledAction, enqueue: EnqueueTargets) =>
  assignAll(pass, [action], enqueue)

function assignAll(pass: SchedulingPass, actions: readonly ScheduledAction[], enqueue: EnqueueTargets) {
  const affected = {
    actionIds: actions.map(({ id }) => id),
    pipelineIds: actions.map(({ pipelineId }) => pipelineId),
    serverIds: actions.flatMap(({ targets }) => targets.map(({ serverId }) => serverId)),
  }
  return assignSlots(pass, affected, enqueue)
}

async function isLatestOnly({ trx }: SchedulingPass, { id }: ScheduledAction): Promise<boolean> {
  const { rows } = await sql`
    select from actions a join pipelines p on p.id = a.pipeline_id
    where a.id = ${id} and p.queue_policy = 'latest' and a.trigger_type = 'hook' and a.triggered_by is null`.execute(
    trx,
  )
  return rows.length > 0
}
