import { CHECK_HEALTH, REVERT_RELEASE } from '#model/pipelines/built-in-steps.ts'
import type { LiveBefore, StoredStep } from '#platform/database/tables.ts'

// Whether a target reverts to the release that was live before it, and with which steps. Pure.

/** What a step of the run was planned from. */
export type StepMarks = {
  id: number
  name: string
  builtIn: boolean
  irreversible: boolean
  runOnRevert: boolean
}

export type Failure = {
  onFailure: 'revert' | 'keep'
  /** Of the target, as they are when it ends here. */
  steps: readonly StoredStep[]
  /** The step that failed. */
  order: number
  marks: readonly StepMarks[]
  /** Rows of irreversible steps that have completed on other servers of the action. */
  doneElsewhere: readonly number[]
  /** Stored at activation. Null: not activated, or by a release of Gantry that did not store it. */
  liveBefore: LiveBefore | null
  /** Whether it has switched is not known. */
  isUnknown: boolean
  /** All servers of the action revert together. */
  revertsAll: boolean
}

/** `note`: for the log of the step that failed; null where reverting was never an option. */
export type Verdict = { kind: 'keep'; note: string | null } | { kind: 'revert'; steps: StoredStep[] }

const CLEANUP = 'remove-old-releases'
export const KEEP: Verdict = { kind: 'keep', note: null }

/** A step of the run failed, and no one canceled it. */
export function judgeFailure(failure: Failure): Verdict {
  const { onFailure, steps, order, marks, liveBefore, isUnknown, revertsAll } = failure
  const failed = steps.find((step) => step.order === order)
  const cleanup = builtIn(marks, CLEANUP)
  if (onFailure === 'keep' || revertStep(steps)) return KEEP
  if (!isUnknown && liveBefore === null && !isActivated(steps, marks)) return KEEP
  if (failed?.step_id === cleanup?.id && cleanup) return KEEP
  const done = new Set([...failure.doneElsewhere, ...completedRows(steps)])
  const irreversible = marks.find((mark) => mark.irreversible && done.has(mark.id))
  if (irreversible) return keep(`Not reverted: irreversible step ${irreversible.name} completed.`)
  if (isUnknown) return revertsAll ? { kind: 'revert', steps: revertSteps(steps, marks) } : keep(LIVE_UNKNOWN)
  if (liveBefore === null) return keep('Not reverted: the release that was live before this run is unknown.')
  if (liveBefore.release === null)
    return keep('Not reverted: nothing was live on this server before this run.')
  return { kind: 'revert', steps: revertSteps(steps, marks) }
}

const LIVE_UNKNOWN =
  'Not reverted: it is unknown whether this server has switched to the new release. Gantry keeps checking.'

function keep(note: string): Verdict {
  return { kind: 'keep', note }
}

/** The step that switches has completed. One that failed may have switched, too: then `live_before` is stored. */
function isActivated(steps: readonly StoredStep[], marks: readonly StepMarks[]): boolean {
  const activate = builtIn(marks, 'activate-new-release')
  return steps.some(({ step_id, status }) => step_id === activate?.id && status === 'completed')
}

/** Where the target starts to go back; undefined when it does not. */
export function revertStep(steps: readonly StoredStep[]): StoredStep | undefined {
  return steps.find(({ step_id }) => step_id === null)
}

/** The target has failed, but nothing other than the cleanup did: no reason to go back. */
export function failedOnlyAtCleanup(steps: readonly StoredStep[], marks: readonly StepMarks[]): boolean {
  const cleanup = builtIn(marks, CLEANUP)
  const failed = steps.filter(({ status }) => status === 'failed')
  if (!cleanup || failed.length === 0 || revertStep(steps)) return false
  return failed.every(({ step_id }) => step_id === cleanup.id)
}

/** To be appended: the switch, what is marked to run again, the health check. */
export function revertSteps(steps: readonly StoredStep[], marks: readonly StepMarks[]): StoredStep[] {
  const again = new Set(marks.filter((mark) => mark.runOnRevert).map(({ id }) => id))
  const health = builtIn(marks, CHECK_HEALTH.name)
  const ofRow = (isWanted: (id: number) => boolean) =>
    steps.filter(({ step_id }) => step_id !== null && isWanted(step_id))
  const copied = [...ofRow((id) => again.has(id)), ...ofRow((id) => id === health?.id)]
  const last = steps.at(-1)!.order
  return [{ ...REVERT_RELEASE, step_id: null }, ...copied].map(({ step_id, name, description }, index) => ({
    order: last + 1 + index,
    step_id,
    name,
    description,
    status: 'pending',
    reason: 'PENDING',
    started_at: null,
    completed_at: null,
  }))
}

function builtIn(marks: readonly StepMarks[], name: string): StepMarks | undefined {
  return marks.find((mark) => mark.builtIn && mark.name === name)
}

function completedRows(steps: readonly StoredStep[]): number[] {
  return steps.flatMap(({ step_id, status }) => (step_id !== null && status === 'completed' ? step_id : []))
}
