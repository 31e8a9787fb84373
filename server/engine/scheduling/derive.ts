import type { State } from '#model/actions/status.ts'
import { isEnd, SKIPPED } from '#model/actions/status.ts'
import type { ReasonCode, StoredStep } from '#platform/database/tables.ts'
import type { LiveTarget } from './live-action.ts'

// What follows from what: actions from their targets, targets from their steps. Pure.

type Targets = readonly Pick<LiveTarget, 'status' | 'reason' | 'batch'>[]

/** The state of an action that has a place, given the states of its targets. */
export function actionState(targets: Targets): State {
  const has = (status: LiveTarget['status']) => targets.some((target) => target.status === status)
  if (targets.every((target) => isEnd(target.status))) return endOfAction(targets)
  if (has('in-progress')) return { status: 'in-progress', reason: 'IN_PROGRESS' }
  if (has('completed') || has('failed')) return { status: 'in-progress', reason: 'PENDING' }
  if (has('queued')) return { status: 'queued', reason: 'QUEUED' }
  return { status: 'waiting', reason: 'WAITING_CONCURRENCY_TARGET' }
}

function endOfAction(targets: Targets): State {
  const failed = targets.find((target) => target.status === 'failed')
  if (failed) return { status: 'failed', reason: failed.reason }
  if (targets.every((target) => target.status === 'completed'))
    return { status: 'completed', reason: 'COMPLETED' }
  return SKIPPED
}

/** Targets whose turn has come: the batches before theirs are over. */
export function openTargets<Target extends Targets[number]>(targets: readonly Target[]): Target[] {
  const current = currentBatch(targets)
  return targets.filter((target) => target.status === 'pending' && target.batch === current)
}

/** Targets that will never run, because too many of earlier batches failed. */
export function leftOutTargets<Target extends Targets[number]>(
  targets: readonly Target[],
  maxFailed: number,
): Target[] {
  const failed = targets.filter((target) => target.status === 'failed')
  if (failed.length <= maxFailed) return []
  const lastFailed = Math.max(...failed.map((target) => target.batch))
  return targets.filter((target) => target.status === 'pending' && target.batch > lastFailed)
}

function currentBatch(targets: Targets): number {
  return Math.min(...targets.filter((target) => !isEnd(target.status)).map((target) => target.batch))
}

/** The steps of a target that ends without finishing them: what runs ends like the target, the rest is skipped. */
export function endSteps(steps: readonly StoredStep[], running: State, at: string): StoredStep[] {
  return steps.map((step) => {
    if (isEnd(step.status)) return step
    const next: State = step.status === 'in-progress' ? running : SKIPPED
    return { ...step, ...next, completed_at: at, updated_at: at }
  })
}

/** How a target ends, by its steps: with the first one that failed. */
export function endOfTarget(steps: readonly StoredStep[]): State {
  const failed = steps.find((step) => step.status === 'failed')
  return failed
    ? { status: 'failed', reason: failed.reason as ReasonCode }
    : { status: 'completed', reason: 'COMPLETED' }
}
