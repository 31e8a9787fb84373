import { isEnd, SKIPPED, type State } from '#model/actions/status.ts'
import type { StoredStep } from '#platform/database/tables.ts'

// How the steps of a target change while it runs. Pure; the time comes from the database.

const RUNNING: State = { status: 'in-progress', reason: 'IN_PROGRESS' }
const NOT_YET: State = { status: 'pending', reason: 'PENDING' }
const DONE: State = { status: 'completed', reason: 'COMPLETED' }

/** Begins (or begins again) at this step; it and those after it are as if they had not run. */
export function beginAt(steps: readonly StoredStep[], order: number, at: string): StoredStep[] {
  return steps.map((step) => {
    if (step.order < order) return step
    const next = step.order === order ? RUNNING : NOT_YET
    const startedAt = step.order === order ? at : null
    return { ...step, ...next, started_at: startedAt, completed_at: null, updated_at: at }
  })
}

/** The running step is done, and the one after it begins. */
export function goOn(steps: readonly StoredStep[], order: number, at: string): StoredStep[] {
  return steps.map((step) => {
    if (step.order === order) return { ...step, ...DONE, completed_at: at, updated_at: at }
    if (step.order === order + 1) return { ...step, ...RUNNING, started_at: at, updated_at: at }
    return step
  })
}

/** The running step ends the target: as its last, or because it failed; the rest is skipped. */
export function endWith(steps: readonly StoredStep[], order: number, end: State, at: string): StoredStep[] {
  return steps.map((step) => {
    if (step.order === order) return { ...step, ...end, completed_at: at, updated_at: at }
    return isEnd(step.status) ? step : { ...step, ...SKIPPED, completed_at: at, updated_at: at }
  })
}
