import { isEnd } from '#model/actions/status.ts'
import type { StoredStep } from '#platform/database/tables.ts'
import type { StepDefinition } from './load-run.ts'

// Where a target whose attempt was interrupted may continue. Pure: the order of a step, or null when something that
// must not happen twice may have happened. `definitions` are in the order of the steps.

/** From here a deploy starts over: nothing before it depends on the release. */
const NEW_RELEASE = 'get-new-release'
/** Settled before it is repeated, which takes a release. */
const SWITCH = 'activate-new-release'
/** Change nothing, or nothing that a second time would change. */
const REPEATABLE: readonly string[] = ['check-health', 'remove-old-releases', 'revert-release']

/** For a new attempt: at the step that ran, or at the start of a new release. */
export function resumeAt(
  steps: readonly StoredStep[],
  definitions: readonly StepDefinition[],
): number | null {
  const index = steps.findIndex((step) => !isEnd(step.status))
  if (!definitions[index]) return null
  return steps[index]!.status === 'in-progress' ? repeatAt(definitions, index) : definitions[index].order
}

/** The step at `index` was interrupted, and those before it are done. */
export function repeatAt(definitions: readonly StepDefinition[], index: number): number | null {
  const interrupted = definitions[index]!
  if (!interrupted.builtIn) return interrupted.idempotent ? interrupted.order : null
  const newRelease = definitions.findIndex((one) => one.builtIn && one.name === NEW_RELEASE)
  if (REPEATABLE.includes(interrupted.name) || index <= newRelease) return interrupted.order
  if (newRelease === -1) return null
  if (interrupted.name === SWITCH) return interrupted.order
  const isSafe = definitions.slice(newRelease, index).every((one) => one.builtIn || one.idempotent)
  return isSafe ? definitions[newRelease]!.order : null
}
