// The scheduling room decides which action and which target runs next, within the limits of pipelines and
// servers. After an action is created, every status change is decided and stored here, one environment at a
// time. The runner reports through target-lifecycle.ts, users cancel through cancel.ts.

import { sql } from 'kysely'
import { lockEnvironment, lockScheduling } from '#model/actions/lock-scheduling.ts'
import { canMove, isEnd, type State } from '#model/actions/status.ts'
import { IS_APPROVED, NEEDS_APPROVAL } from '#model/gates/approval-sql.ts'
import { NEEDS_CHECKS } from '#model/gates/checks-sql.ts'
import { type GateFacts, judgeGates } from '#model/gates/decide-gate.ts'
import {
  type Freeze,
  type FreezeInForce,
  freezesOf,
  inForce,
  OVERRIDDEN_FREEZES,
} from '#model/gates/load-freezes.ts'
import { revertsAll } from '#model/pipelines/reverts-all.ts'
import { readLiveWorkers } from '#model/workers/live-workers.ts'
import type { LiveWorker } from '#model/workers/placement.ts'
import { anyId } from '#platform/database/any-of.ts'
import type { Transaction } from '#platform/database/connect.ts'
import type { Status, StoredStep } from '#platform/database/tables.ts'
import { type Gate, type GateEvent, gateOf } from '#platform/vocabulary.ts'
import { notePass } from './committed-moves.ts'
import type { ScheduledAction, ScheduledTarget } from './scheduled-action.ts'
import { endSteps, stepMoves } from './states.ts'
import { type Moves, recordMoves, storeMoves } from './store-moves.ts'
import { IS_SUPERSEDED } from './superseded-sql.ts'

export { lockScheduling }

export type SchedulingPass = Awaited<ReturnType<typeof openSchedulingPass>>

/**
 * One transaction on an environment under its lock: actions are read into memory, moved there, and written back
 * together, each move with its event. A move that the rules forbid is a bug, and throws.
 */
export async function openSchedulingPass(trx: Transaction, environmentId: number) {
  notePass(trx)
  const at = await lockEnvironment(trx, environmentId)
  const actions = new Map<number, ScheduledAction>()
  const steps = new Map<number, StoredStep[]>()
  const newMoves = (): Moves => ({ slotted: [], actions: [], targets: [] })
  let moves = newMoves()
  let workers: Promise<LiveWorker[]> | undefined
  let freezes: FreezeInForce[] = []
  let holdsRuns = false
  let asksForApproval = false
  let hasEarlyGates = false

  return {
    trx,
    environmentId,
    /** The workers that are online, read once. */
    workers(): Promise<LiveWorker[]> {
      workers ??= readLiveWorkers(trx)
      return workers
    },
    /** The database's time, the same for all moves of the pass. */
    at,
    loaded: () => [...actions.values()],
    /** The freezes in force, known once something was loaded: nothing starts before that. */
    freezes: () => freezes,
    /** Whether freezes have held runs that have not been released yet; likewise. */
    holdsRuns: () => holdsRuns,
    /** Whether runs here need approval, or did; likewise. */
    asksForApproval: () => asksForApproval,
    /** Whether runs here wait for checks or approval, or did; likewise. */
    hasEarlyGates: () => hasEarlyGates,
    /** The gate that keeps this run from starting, if one does. */
    closedGate(action: ScheduledAction): Gate | null {
      const verdict = judgeGates({
        ...action,
        checks: checksOf(action),
        approval: approvalOf(action),
        freezes,
      })
      return verdict.kind === 'closed' ? verdict.gate : null
    },
    /** Loads those that are not loaded yet; returns them in the order of ids. Unknown ids are left out. */
    async load(ids: readonly number[]): Promise<ScheduledAction[]> {
      const unknown = ids.filter((id) => !actions.has(id))
      for (const { covering, ...row } of await loadActions(trx, environmentId, unknown)) {
        const { holding, asking, checking, ...action } = row
        freezes = inForce(covering, at)
        holdsRuns = holding
        asksForApproval = asking
        hasEarlyGates = asking || checking
        actions.set(action.id, action)
      }
      return [...new Set(ids)].sort((a, b) => a - b).flatMap((id) => actions.get(id) ?? [])
    },
    acquireSlot(action: ScheduledAction): void {
      action.hasSlot = true
      moves.slotted.push(action)
    },
    /** It has not begun, and waits without a slot. */
    returnSlot(action: ScheduledAction, next: State): void {
      action.hasSlot = false
      this.moveAction(action, next)
    },
    moveAction(action: ScheduledAction, next: State): void {
      if (action.status === next.status && action.reason === next.reason) return
      assertMove(`action ${action.id}`, action.status, next.status)
      const isGateChanged = gateOf(action.reason) !== gateOf(next.reason)
      const gateEvent = isGateChanged ? 'gate_changed' : null
      moves.actions.push({ action, previous: action.status, gateEvent, ...next })
      Object.assign(action, next)
      if (next.status === 'in-progress') action.startedAt ??= at
      if (isEnd(next.status)) action.hasSlot = false
    },
    /** Something at their gate that changes neither their status nor their reason. */
    noteGate(noted: readonly ScheduledAction[], gateEvent: GateEvent): Promise<void> {
      const moves = noted.map(({ id, pipelineId, status, reason }) => {
        return { action: { id, pipelineId }, previous: status, status, reason, gateEvent }
      })
      return recordMoves(trx, at, moves)
    },
    /** The steps of these targets, in the same order. Few moves need them, and those of a large rollout are long. */
    async steps(targets: readonly ScheduledTarget[]): Promise<StoredStep[][]> {
      const unknown = targets.flatMap(({ id }) => (steps.has(id) ? [] : id))
      for (const row of await loadSteps(trx, unknown)) steps.set(row.id, row.steps)
      return targets.map(({ id }) => steps.get(id)!)
    },
    moveTarget(target: ScheduledTarget, next: State): void {
      assertMove(`target ${target.id}`, target.status, next.status)
      moves.targets.push({ target, previous: target.status, ...next, stepMoves: [] })
      Object.assign(target, next)
      if (next.status === 'in-progress') target.startedAt ??= at
    },
    /** The target moves, and its steps with it; most often it ends. */
    async endTarget(target: ScheduledTarget, end: State, after: StoredStep[]): Promise<void> {
      assertMove(`target ${target.id}`, target.status, end.status)
      const [before] = await this.steps([target])
      moves.targets.push({
        target,
        previous: target.status,
        ...end,
        steps: after,
        stepMoves: stepMoves(before!, after),
      })
      Object.assign(target, end)
      steps.set(target.id, after)
    },
    /** Ends targets that run nothing, with all their steps. */
    async endIdle(targets: readonly ScheduledTarget[], end: State): Promise<void> {
      const before = await this.steps(targets)
      for (const [index, target] of targets.entries())
        await this.endTarget(target, end, endSteps(before[index]!, end, at))
    },
    /** Writes what has changed since the last time. */
    flush(): Promise<void> {
      const due = moves
      moves = newMoves()
      return storeMoves(trx, at, due)
    },
  }
}

/** What they are is decided where they are asked for. */
function checksOf({ needsChecks }: ScheduledAction): GateFacts['checks'] {
  return needsChecks ? { state: 'waiting', isOverridden: false } : null
}

/** Whom it needs, and whether that still holds, was decided when the gate was opened. */
function approvalOf({ needsApproval, isApproved }: ScheduledAction): GateFacts['approval'] {
  if (!needsApproval) return null
  return { required: 1, approvals: isApproved ? 1 : 0, isRejected: false, isExpired: false }
}

function assertMove(what: string, from: Status, to: Status): void {
  if (from !== to && !canMove(from, to)) throw new Error(`${what} must not move from ${from} to ${to}`)
}

type OfEnvironment = { covering: Freeze[]; holding: boolean; asking: boolean; checking: boolean }

async function loadActions(
  trx: Transaction,
  environmentId: number,
  ids: readonly number[],
): Promise<(ScheduledAction & OfEnvironment)[]> {
  if (ids.length === 0) return []
  // What concerns the whole environment is read along: it takes no statement more where nothing is frozen.
  const { rows } = await sql<ScheduledAction & OfEnvironment>`
    select a.id, a.pipeline_id as "pipelineId", a.type, a.parent_id as "parentId", a.status,
      a.status_reason_code as reason, a.created_at as "createdAt", a.started_at as "startedAt", a.has_place as "hasSlot",
      coalesce((p.rollout ->> 'max_failed')::int, 0) as "maxFailed", a.cancelled_at is not null as "isCancelled",
      ${revertsAll('a', 'p')} as "revertsAll", coalesce(a.deployment ->> 'type' = 'rollback', false) as "isRollback",
      ${IS_SUPERSEDED} as "isSuperseded", ${NEEDS_CHECKS} as "needsChecks", ${NEEDS_APPROVAL} as "needsApproval", ${IS_APPROVED} as "isApproved",
      ${OVERRIDDEN_FREEZES} as "overriddenFreezes",
      ${freezesOf(environmentId)} as covering,
      exists (select from frozen_environments where environment_id = ${environmentId}) as holding,
      exists (select from approval_terms where environment_id = ${environmentId}) as asking,
      exists (select from checks_terms x join pipelines on pipelines.id = x.pipeline_id
        where pipelines.environment_id = ${environmentId}) as checking,
      (select json_agg(json_build_object('id', t.id, 'actionId', t.action_id, 'batch', t.batch,
          'serverId', t.server_id, 'status', t.status, 'reason', t.status_reason_code,
          'startedAt', t.started_at) order by t.position)
        from targets t where t.action_id = a.id) as targets
    from actions a join pipelines p on p.id = a.pipeline_id
    where a.id = ${anyId(ids)} and a.environment_id = ${environmentId}
    order by a.id`.execute(trx)
  return rows
}

async function loadSteps(
  trx: Transaction,
  ids: readonly number[],
): Promise<{ id: number; steps: StoredStep[] }[]> {
  if (ids.length === 0) return []
  return trx.selectFrom('targets').select(['id', 'steps']).where('id', 'in', ids).execute()
}
