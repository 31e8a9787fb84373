import { DEPLOY_STEPS } from '#model/pipelines/built-in-steps.ts'
import type { StepChange } from '#model/pipelines/schemas.ts'
import { conflict, FieldErrors, type HttpProblem } from '#platform/http/problems.ts'

// What a schema cannot say about a step. Pure.

const MOST_COMMAND_BYTES = 65_536

/** The runner knows what a deploy has done by the names of its steps: they are not for others. */
const BUILT_IN_NAMES: ReadonlySet<string> = new Set(DEPLOY_STEPS.map(({ name }) => name))

export function checkStep(wish: StepChange, others: readonly { name: string }[]): HttpProblem | undefined {
  const faults = new FieldErrors()
  if (wish.name !== undefined) {
    if (BUILT_IN_NAMES.has(wish.name)) faults.add('name', 'is the name of a built-in step')
    else if (others.some(({ name }) => name === wish.name))
      faults.add('name', 'is the name of another step of this pipeline')
  }
  if (wish.command !== undefined && Buffer.byteLength(wish.command) > MOST_COMMAND_BYTES)
    faults.add('command', 'must not be longer than 64 KiB')
  return faults.any ? { kind: 'invalid', errors: faults.found } : undefined
}

/** Of a built-in step people decide how long it may take. */
export function refuseBuiltIn(wish: StepChange): HttpProblem | undefined {
  const fixed = Object.keys(wish).filter((field) => field !== 'timeout_seconds')
  if (fixed.length === 0) return undefined
  return conflict(
    'This is a built-in step: only its timeout_seconds can be changed.',
    Object.fromEntries(fixed.map((field) => [field, ['is fixed for built-in steps']])),
  )
}
