import { isEnd, SKIPPED, type State } from '#model/actions/status.ts'
import type { ReasonCode, Status, StoredStep } from '#platform/database/tables.ts'

// How the steps of a target change, and what follows for the target. Pure; the time comes from the database.

type Steps = readonly StoredStep[]

const RUNNING: State = { status: 'in-progress', reason: 'IN_PROGRESS' }
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

/** The running step is done, and the next one starts. */
export function completeStep(steps: Steps, order: number, at: string): StoredStep[] {
  return steps.map((step) => {
    if (step.order === order) return { ...step, ...COMPLETED, completed_at: at, updated_at: at }
    if (step.order === order + 1) return { ...step, ...RUNNING, started_at: at, updated_at: at }
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

/** The end of a target, given its steps: that of the first one that failed. */
export function endOfTarget(steps: Steps): State {
  const failed = steps.find((step) => step.status === 'failed')
  return failed ? { status: 'failed', reason: failed.reason as ReasonCode } : COMPLETED
}

export type StepMove = { order: number; previous: Status; status: Status; reason: ReasonCode }

export function stepMoves(before: Steps, after: Steps): StepMove[] {
  return after.flatMap(({ order, status, reason }, index) => {
    const previous = before[index]!.status
    return previous === status ? [] : { order, previous, status, reason }
  })
}
