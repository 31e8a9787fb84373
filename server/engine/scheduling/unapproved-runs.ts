import { sql } from 'kysely'
import { isEnd, WAITING_FOR_APPROVAL } from '#model/actions/status.ts'
import { IS_APPROVED, NEEDS_APPROVAL } from '#model/gates/approval-sql.ts'
import { anyId } from '#platform/database/any-of.ts'
import type { Status } from '#platform/database/tables.ts'
import { noteWaiting } from './committed-moves.ts'
import { needsSlot, type ScheduledAction } from './scheduled-action.ts'
import type { SchedulingPass } from './scheduling-pass.ts'
import { notifyWatchers, recordMoves } from './store-moves.ts'
import { askAgain, isStillApproved } from './verify-approval.ts'

// Runs that need approval: at the gate they have no slot, and nothing reads them until people have decided.

const HELD_AT_ONCE = 2_000

/**
 * Those of these runs, about to get a slot, that must not: they go to the gate, and everything else of their pipelines that is
 * not approved with them. Returns whether there were any.
 */
export async function holdUnapproved(
  pass: SchedulingPass,
  next: readonly ScheduledAction[],
): Promise<boolean> {
  const unapproved: ScheduledAction[] = []
  for (const action of next) {
    if (!action.needsApproval) continue
    const serverIds = action.targets.map(({ serverId }) => serverId)
    if (action.isApproved && (await isStillApproved(pass.trx, action.id, serverIds))) continue
    unapproved.push(action)
  }
  if (unapproved.length === 0) return false
  await holdForApproval(pass, unapproved)
  await pass.flush()
  const pipelineIds = [...new Set(unapproved.map(({ pipelineId }) => pipelineId))]
  while ((await storeUnapproved(pass, pipelineIds)) === HELD_AT_ONCE) {}
  return true
}

/** Of these pipelines: whatever is not approved waits for that, before it waits for the end of a freeze. */
export async function holdRestUnapproved(
  pass: SchedulingPass,
  pipelineIds: readonly number[],
): Promise<void> {
  if (!pass.asksForApproval()) return
  await holdLoadedUnapproved(pass, pipelineIds)
  await pass.flush()
  while ((await storeUnapproved(pass, pipelineIds)) === HELD_AT_ONCE) {}
}

export function holdLoadedUnapproved(pass: SchedulingPass, pipelineIds: readonly number[]): Promise<void> {
  const unapproved = pass.loaded().filter((action) => {
    const isAsked = needsSlot(action) && pass.closedGate(action) === 'approval'
    return isAsked && pipelineIds.includes(action.pipelineId)
  })
  return holdForApproval(pass, unapproved)
}

/** They have no slot, and wait at the gate: a worker finds out what they ship. */
async function holdForApproval(pass: SchedulingPass, actions: readonly ScheduledAction[]): Promise<void> {
  for (const action of actions) {
    action.isApproved = false
    pass.moveAction(action, WAITING_FOR_APPROVAL)
  }
  await askAgain(
    pass.trx,
    actions.map(({ id }) => id),
  )
}

/** Returns how many there were; up to the limit. */
async function storeUnapproved(
  { trx, at, loaded }: SchedulingPass,
  pipelineIds: readonly number[],
): Promise<number> {
  const except = loaded().map(({ id }) => id)
  const { rows } = await sql<{ id: number; pipelineId: number; previous: Status }>`
    with next as materialized (
      select held.id, held.status from pipelines p cross join lateral (
        select a.id, a.status from actions a
        where a.pipeline_id = p.id and a.status in ('queued', 'waiting') and not a.has_place and a.gate is null
          and a.id <> all(${except}::bigint[]) and ${NEEDS_APPROVAL} and not ${IS_APPROVED}
        order by a.id limit ${HELD_AT_ONCE}
      ) as held
      where p.id = ${anyId(pipelineIds)} limit ${HELD_AT_ONCE}
    )
    update actions set status = ${WAITING_FOR_APPROVAL.status}, status_reason_code = ${WAITING_FOR_APPROVAL.reason},
      gate = 'approval', updated_at = ${at}
    from next where actions.id = next.id and actions.id = any(array(select id from next))
    returning actions.id, actions.pipeline_id as "pipelineId", next.status as previous`.execute(trx)
  if (rows.length === 0) return 0
  const inOrder = rows.sort((one, other) => one.id - other.id)
  const ids = inOrder.map(({ id }) => id)
  await askAgain(trx, ids)
  const moves = inOrder.map(({ previous, ...action }) => ({
    ...WAITING_FOR_APPROVAL,
    action,
    previous,
    gateEvent: 'gate_changed' as const,
  }))
  await recordMoves(trx, at, moves)
  await notifyWatchers(ids).execute(trx)
  noteWaiting(trx, rows.length)
  return rows.length
}

/** Something of it has: otherwise it waits for a server or a worker at most, or was queued. */
export function hasBegun({ targets }: ScheduledAction): boolean {
  return targets.some(({ status }) => status === 'in-progress' || isEnd(status))
}

/** Before its first step, a target was found to need approval again. If nothing else of the run has begun, all of it waits. */
export function returnUnapproved(pass: SchedulingPass): ScheduledAction[] {
  const waiting = pass.loaded().filter((action) => {
    const { hasSlot, isApproved, targets } = action
    const isWaiting = targets.some(({ reason }) => reason === 'WAITING_APPROVAL')
    return hasSlot && !isApproved && isWaiting && !hasBegun(action)
  })
  const idle = waiting.filter(({ targets }) => !targets.some(({ status }) => status === 'queued'))
  for (const action of idle) {
    for (const target of action.targets)
      if (target.status === 'waiting' && target.reason !== 'WAITING_APPROVAL')
        pass.moveTarget(target, WAITING_FOR_APPROVAL)
    pass.returnSlot(action, WAITING_FOR_APPROVAL)
  }
  return waiting
}
