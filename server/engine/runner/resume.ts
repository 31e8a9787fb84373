import { isEnd } from '#model/actions/status.ts'
import type { StoredStep } from '#platform/database/tables.ts'
import type { StepDefinition } from './step-definition.ts'

/**
 * What to do with a target whose worker was lost: go on with the step that ran, or with a new release from
 * its beginning; or give it up, because something that must not happen twice may have happened.
 */
export type Resumption = { kind: 'go-on'; order: number } | { kind: 'give-up' }

/** From here a deploy begins anew: nothing before it depends on the release. */
const NEW_RELEASE = 'get-new-release'
const CLEANING = 'remove-old-releases'

/** Pure. `definitions` are in the order of `steps`. */
export function resume(steps: readonly StoredStep[], definitions: readonly StepDefinition[]): Resumption {
  const index = steps.findIndex((step) => !isEnd(step.status))
  if (!definitions[index]) return { kind: 'give-up' }
  if (steps[index]!.status !== 'in-progress') return { kind: 'go-on', order: definitions[index].order }
  return takeUp(definitions, index)
}

/** What to do when the step at `index` was broken off and those before it are done. Pure. */
export function takeUp(definitions: readonly StepDefinition[], index: number): Resumption {
  const broken = definitions[index]!
  const again: Resumption = { kind: 'go-on', order: broken.order }
  if (!broken.builtIn) return broken.idempotent ? again : { kind: 'give-up' }
  const newRelease = definitions.findIndex((one) => one.builtIn && one.name === NEW_RELEASE)
  if (broken.name === CLEANING || index <= newRelease) return again
  if (newRelease === -1) return { kind: 'give-up' }
  const isSafe = definitions.slice(newRelease, index).every((one) => one.builtIn || one.idempotent)
  return isSafe ? { kind: 'go-on', order: definitions[newRelease]!.order } : { kind: 'give-up' }
}
