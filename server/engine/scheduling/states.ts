import { isEnd, SKIPPED, type State } from '#model/actions/status.ts'
import type { ScheduledTarget } from './store.ts'

// The state of an action, and which of its targets come next, given its targets. Pure.

type Targets = readonly Pick<ScheduledTarget, 'status' | 'reason' | 'batch'>[]

/** The state of an action that has a slot. */
export function actionState(targets: Targets): State {
  const has = (status: ScheduledTarget['status']) => targets.some((target) => target.status === status)
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

/** Pending targets of the current batch: all earlier batches are over. */
export function readyTargets<Target extends Targets[number]>(targets: readonly Target[]): Target[] {
  const current = Math.min(...targets.flatMap(({ status, batch }) => (isEnd(status) ? [] : batch)))
  return targets.filter((target) => target.status === 'pending' && target.batch === current)
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
