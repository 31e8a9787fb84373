import { sql } from 'kysely'
import { isEnd, type State, WAITING_FOR_APPROVAL, WAITING_FOR_CHECKS } from '#model/actions/status.ts'
import { anyId } from '#platform/database/any-of.ts'
import type { Transaction } from '#platform/database/connect.ts'
import type { Status } from '#platform/database/tables.ts'
import type { Gate } from '#platform/vocabulary.ts'
import { requestChecks } from './check-requests.ts'
import { noteWaiting } from './committed-moves.ts'
import { CLOSED_EARLY_GATE, type EarlyGate, WAITING_AT } from './early-gates.ts'
import { needsSlot, type ScheduledAction } from './scheduled-action.ts'
import type { SchedulingPass } from './scheduling-pass.ts'
import { notifyWatchers, recordMoves } from './store-moves.ts'
import { askAgain, isStillApproved } from './verify-approval.ts'

// Runs that wait for checks or for people: at the gate they have no slot, and nothing reads them until it opens.

const HELD_AT_ONCE = 2_000

/**
 * Those of these runs, about to get a slot, that must not: they go to their gate, and everything else of their pipelines that
 * has not passed its own with them. Returns whether there were any.
 */
export async function holdGated(pass: SchedulingPass, next: readonly ScheduledAction[]): Promise<boolean> {
  const held: ScheduledAction[] = []
  for (const action of next) {
    if (action.needsChecks) held.push(action)
    else if (action.needsApproval) {
      const serverIds = action.targets.map(({ serverId }) => serverId)
      if (action.isApproved && (await isStillApproved(pass.trx, action.id, serverIds))) continue
      held.push(action)
    }
  }
  if (held.length === 0) return false
  await holdAtGates(pass, held)
  await pass.flush()
  const pipelineIds = [...new Set(held.map(({ pipelineId }) => pipelineId))]
  while ((await storeGated(pass, pipelineIds)) === HELD_AT_ONCE) {}
  return true
}

/** Of these pipelines: whatever waits for checks or people waits for that, before it waits for the end of a freeze. */
export async function holdRestGated(pass: SchedulingPass, pipelineIds: readonly number[]): Promise<void> {
  if (!pass.hasEarlyGates()) return
  await holdLoadedGated(pass, pipelineIds)
  await pass.flush()
  while ((await storeGated(pass, pipelineIds)) === HELD_AT_ONCE) {}
}

export function holdLoadedGated(pass: SchedulingPass, pipelineIds: readonly number[]): Promise<void> {
  const held = pass
    .loaded()
    .filter((action) => needsSlot(action) && pipelineIds.includes(action.pipelineId))
    .filter((action) => isEarly(pass.closedGate(action)))
  return holdAtGates(pass, held)
}

const isEarly = (gate: Gate | null): gate is EarlyGate => gate === 'checks' || gate === 'approval'

/** They have no slot, and wait: a worker finds out what they ship. */
export async function holdAtGates(pass: SchedulingPass, actions: readonly ScheduledAction[]): Promise<void> {
  const ids: Record<EarlyGate, number[]> = { checks: [], approval: [] }
  for (const action of actions) {
    const gate = action.needsChecks ? 'checks' : 'approval'
    if (gate === 'approval') action.isApproved = false
    pass.moveAction(action, WAITING_AT[gate])
    ids[gate].push(action.id)
  }
  await askAtGates(pass.trx, ids)
}

export async function askAtGates(trx: Transaction, ids: Record<EarlyGate, number[]>): Promise<void> {
  await requestChecks(trx, ids.checks)
  await askAgain(trx, ids.approval)
}

/** Returns how many there were; up to the limit. */
async function storeGated(
  { trx, at, loaded }: SchedulingPass,
  pipelineIds: readonly number[],
): Promise<number> {
  const except = loaded().map(({ id }) => id)
  const { rows } = await sql<{ id: number; pipelineId: number; gate: EarlyGate; previous: Status }>`
    with next as materialized (
      select held.id, held.status, held.gate from pipelines p cross join lateral (
        select a.id, a.status, ${CLOSED_EARLY_GATE} as gate from actions a
        where a.pipeline_id = p.id and a.status in ('queued', 'waiting') and not a.has_place and a.gate is null
          and a.id <> all(${except}::bigint[]) and ${CLOSED_EARLY_GATE} is not null
        order by a.id limit ${HELD_AT_ONCE}
      ) as held
      where p.id = ${anyId(pipelineIds)} limit ${HELD_AT_ONCE}
    )
    update actions set status = 'waiting', gate = next.gate, updated_at = ${at},
      status_reason_code = case next.gate when 'checks' then ${WAITING_FOR_CHECKS.reason} else ${WAITING_FOR_APPROVAL.reason} end
    from next where actions.id = next.id and actions.id = any(array(select id from next))
    returning actions.id, actions.pipeline_id as "pipelineId", next.gate, next.status as previous`.execute(
    trx,
  )
  if (rows.length === 0) return 0
  const inOrder = rows.sort((one, other) => one.id - other.id)
  const idsAt = (gate: EarlyGate) => inOrder.flatMap((row) => (row.gate === gate ? row.id : []))
  await askAtGates(trx, { checks: idsAt('checks'), approval: idsAt('approval') })
  const moves = inOrder.map(({ previous, gate, ...action }) => ({
    ...WAITING_AT[gate],
    action,
    previous,
    gateEvent: 'gate_changed' as const,
  }))
  await recordMoves(trx, at, moves)
  await notifyWatchers(inOrder.map(({ id }) => id)).execute(trx)
  noteWaiting(trx, rows.length)
  return rows.length
}

/** Something of it has: otherwise it waits for a server or a worker at most, or was queued. */
export function hasBegun({ targets }: ScheduledAction): boolean {
  return targets.some(({ status }) => status === 'in-progress' || isEnd(status))
}

/**
 * Before its first step, a target was found to need approval again, or its checks to be green no longer. If nothing else of the
 * run has begun, all of it waits.
 */
export function returnGated(pass: SchedulingPass): ScheduledAction[] {
  const waiting = pass.loaded().filter((action) => {
    const gate = closedForTargets(action)
    return action.hasSlot && gate !== null && !hasBegun(action)
  })
  const idle = waiting.filter(({ targets }) => !targets.some(({ status }) => status === 'queued'))
  for (const action of idle) {
    const next = WAITING_AT[closedForTargets(action)!]
    for (const target of action.targets)
      if (target.status === 'waiting' && target.reason !== next.reason) pass.moveTarget(target, next)
    pass.returnSlot(action, next)
  }
  return waiting
}

/** The gate at which a target of it waits, while that is closed. */
function closedForTargets({ needsChecks, isApproved, targets }: ScheduledAction): EarlyGate | null {
  const waitsAt = (gate: EarlyGate) => targets.some(({ reason }) => reason === WAITING_AT[gate].reason)
  if (needsChecks && waitsAt('checks')) return 'checks'
  return !isApproved && waitsAt('approval') ? 'approval' : null
}

/** A gate sent it back, and is still closed for it. */
export function isHeldAtGate({ needsChecks, isApproved }: ScheduledAction, { reason }: State): boolean {
  if (reason === WAITING_AT.checks.reason) return needsChecks
  return reason === WAITING_AT.approval.reason && !isApproved
}
