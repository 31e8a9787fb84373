import { isEnd, SKIPPED, type State } from '#model/actions/status.ts'
import type { ReasonCode, Status, StoredStep } from '#platform/database/tables.ts'
import { gateOf } from '#platform/vocabulary.ts'
import { isHeld, isOver } from './held-targets.ts'
import { revertStep } from './revert-plan.ts'

// Which states follow from others: of a step and its target, of targets and their action. Pure; the time comes from
// the database.

type Targets = readonly (State & { batch: number })[]

/** The state of an action that has a slot. */
export function actionState(targets: Targets): State {
  const has = (status: Status) => targets.some((target) => target.status === status)
  if (targets.every((target) => isEnd(target.status))) return endOfAction(targets)
  if (targets.some((target) => target.reason === 'REVERTING')) return REVERTING
  if (targets.some((target) => target.status === 'in-progress' && !isHeld(target))) return RUNNING
  if (targets.some(isHeld) || has('completed') || has('failed'))
    return { status: 'in-progress', reason: 'PENDING' }
  if (has('queued')) return { status: 'queued', reason: 'QUEUED' }
  const lacksWorker = targets.some((target) => target.reason === 'WAITING_WORKER')
  return { status: 'waiting', reason: lacksWorker ? 'WAITING_WORKER' : 'WAITING_CONCURRENCY_TARGET' }
}

function endOfAction(targets: Targets): State {
  const reasons = targets.flatMap(({ status, reason }) => (status === 'failed' ? reason : []))
  if (reasons.length > 0) return { status: 'failed', reason: worstOf(reasons) }
  if (targets.every((target) => target.status === 'completed'))
    return { status: 'completed', reason: 'COMPLETED' }
  return SKIPPED
}

/** Servers whose state is in doubt first, what is in order again last. */
const WORST_FIRST: readonly ReasonCode[] = [
  'FAILED_REVERT',
  'FAILED_UNHEALTHY',
  'FAILED_WORKER_LOST',
  'FAILED_UNREACHABLE',
  'FAILED_TIMEOUT',
  'FAILED_SOURCE',
  'FAILED_CHECKS',
  'FAILED_REJECTED',
  'FAILED_EXPIRED',
  'FAILED',
  'FAILED_CANCELLED',
  'FAILED_REVERTED',
]

/** During an upgrade, targets may have reasons that only the newer release knows: they rank right before `FAILED`. */
function worstOf(reasons: readonly ReasonCode[]): ReasonCode {
  const rank = (reason: ReasonCode) => {
    const known = WORST_FIRST.indexOf(reason)
    return known === -1 ? WORST_FIRST.indexOf('FAILED') - 0.5 : known
  }
  return reasons.toSorted((a, b) => rank(a) - rank(b))[0]!
}

/** Pending targets of the current batch: all earlier batches are over. Those that a gate had sent back begin anew. */
export function readyTargets<Target extends Targets[number]>(targets: readonly Target[]): Target[] {
  const current = Math.min(...targets.flatMap((target) => (isOver(target) ? [] : target.batch)))
  return targets.filter((target) => isPending(target) && target.batch === current)
}

function isPending({ status, reason }: State): boolean {
  return status === 'pending' || gateOf(reason) !== null
}

/** Targets that will never run, because too many of earlier batches failed. */
export function skippedTargets<Target extends Targets[number]>(
  targets: readonly Target[],
  maxFailed: number,
): Target[] {
  const failed = targets.filter((target) => target.status === 'failed')
  if (failed.length <= maxFailed) return []
  const lastFailed = Math.max(...failed.map((target) => target.batch))
  return targets.filter((target) => target.status === 'pending' && target.batch > lastFailed)
}

type Steps = readonly StoredStep[]

export const RUNNING: State = { status: 'in-progress', reason: 'IN_PROGRESS' }
/** Of a target that goes back to the release that was live before, and of its action. */
export const REVERTING: State = { status: 'in-progress', reason: 'REVERTING' }
/** Of a target whose server, or worker, was lost, while its step may run on. */
export const RECONNECTING: State = { status: 'in-progress', reason: 'RECONNECTING' }
const NOT_STARTED: State = { status: 'pending', reason: 'PENDING' }
const COMPLETED: State = { status: 'completed', reason: 'COMPLETED' }

/** The first step that is not over. */
export function openStep(steps: Steps): StoredStep | undefined {
  return steps.find((step) => !isEnd(step.status))
}

/** Starts (or restarts) at this step; it and those after it are as if they had not run. */
export function startAt(steps: Steps, order: number, at: string): StoredStep[] {
  return steps.map((step) => {
    if (step.order < order) return step
    const isFirst = step.order === order
    const next = isFirst ? RUNNING : NOT_STARTED
    return { ...step, ...next, started_at: isFirst ? at : null, completed_at: null, updated_at: at }
  })
}

/** The running step is done, and the next one starts, unless the target is handed over. */
export function completeStep(
  steps: Steps,
  order: number,
  at: string,
  { handsOver = false } = {},
): StoredStep[] {
  return steps.map((step) => {
    if (step.order === order) return { ...step, ...COMPLETED, completed_at: at, updated_at: at }
    if (step.order === order + 1 && !handsOver) return { ...step, ...RUNNING, started_at: at, updated_at: at }
    return step
  })
}

/** The steps of a target that ends: this one (the running one unless given) with `end`, the rest is skipped. */
export function endSteps(
  steps: Steps,
  end: State,
  at: string,
  order = steps.find((step) => step.status === 'in-progress')?.order,
): StoredStep[] {
  return steps.map((step) => {
    if (step.order !== order && isEnd(step.status)) return step
    return { ...step, ...(step.order === order ? end : SKIPPED), completed_at: at, updated_at: at }
  })
}

/** The end of a target, given its steps: that of the first one that failed, unless it went back. */
export function endOfTarget(steps: Steps): State {
  const back = revertStep(steps)
  if (back) return endOfRevert(steps.filter(({ order }) => order >= back.order))
  const failed = steps.find((step) => step.status === 'failed')
  return failed ? { status: 'failed', reason: failed.reason as ReasonCode } : COMPLETED
}

function endOfRevert(steps: Steps): State {
  if (steps.every(({ status }) => status === 'completed'))
    return { status: 'failed', reason: 'FAILED_REVERTED' }
  const isCancelled = steps.some(({ reason }) => reason === 'FAILED_CANCELLED')
  return { status: 'failed', reason: isCancelled ? 'FAILED_CANCELLED' : 'FAILED_REVERT' }
}

export type StepMove = { order: number; previous: Status; status: Status; reason: ReasonCode }

export function stepMoves(before: Steps, after: Steps): StepMove[] {
  return after.flatMap(({ order, status, reason }, index) => {
    // Steps that were just added begin as pending.
    const previous = before[index]?.status ?? 'pending'
    return previous === status ? [] : { order, previous, status, reason }
  })
}
