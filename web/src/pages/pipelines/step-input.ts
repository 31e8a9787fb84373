// The values of a step's form, and the request bodies they become. Pure.
import type { PipelineStep } from '#web/base/api/types.ts'

export const DEFAULT_TIMEOUT_SECONDS = 600
const MAX_NAME_LENGTH = 255

export type StepValues = {
  name: string
  command: string
  description: string
  run_as_user: string
  timeout_seconds: number | string
  idempotent: boolean
  irreversible: boolean
  run_on_revert: boolean
}

export const NEW_STEP: StepValues = {
  name: '',
  command: '',
  description: '',
  run_as_user: '',
  timeout_seconds: DEFAULT_TIMEOUT_SECONDS,
  idempotent: false,
  irreversible: false,
  run_on_revert: false,
}

export function valuesOfStep(step: PipelineStep): StepValues {
  const { name, command, description, run_as_user, timeout_seconds } = step
  return {
    name,
    command: command ?? '',
    description: description ?? '',
    run_as_user: run_as_user ?? '',
    timeout_seconds,
    idempotent: step.idempotent,
    irreversible: step.irreversible,
    run_on_revert: step.run_on_revert,
  }
}

export function bodyOfStep(values: StepValues) {
  const { name, command, description, run_as_user, timeout_seconds, irreversible, run_on_revert } = values
  return {
    name: name.trim(),
    command,
    description: description.trim() || null,
    run_as_user: run_as_user.trim() || null,
    timeout_seconds: Number(timeout_seconds),
    idempotent: values.idempotent || run_on_revert,
    irreversible,
    run_on_revert,
  }
}

/** What the API cannot say: it would not get a number. */
export function checkTimeout({ timeout_seconds }: Pick<StepValues, 'timeout_seconds'>) {
  return { timeout_seconds: timeout_seconds === '' ? 'Enter a number of seconds.' : undefined }
}

/** Whether a field below "More options" differs from its default. */
export function hasMoreOptions(values: StepValues): boolean {
  return (
    values.description !== '' ||
    values.run_as_user !== '' ||
    values.timeout_seconds !== DEFAULT_TIMEOUT_SECONDS ||
    values.idempotent ||
    values.irreversible ||
    values.run_on_revert
  )
}

/** A copy with a name that is still free. */
export function copyOf(step: PipelineStep, steps: readonly PipelineStep[]): StepValues {
  const taken = new Set(steps.map(({ name }) => name))
  for (let number = 2; ; number++) {
    const suffix = ` ${number}`
    const name = step.name.slice(0, MAX_NAME_LENGTH - suffix.length) + suffix
    if (!taken.has(name)) return { ...valuesOfStep(step), name }
  }
}

const PREVIEW_LINES = 4
const PREVIEW_LENGTH = 400

/** The beginning of a command, and how many lines follow it; `hidden` is 0 for the rest of one long line. */
export function previewOf(command: string): { text: string; isCut: boolean; hidden: number } {
  const lines = command.trimEnd().split('\n')
  const first = lines.slice(0, PREVIEW_LINES).join('\n')
  const text = first.slice(0, PREVIEW_LENGTH)
  const hidden = Math.max(0, lines.length - PREVIEW_LINES)
  return { text, isCut: hidden > 0 || text.length < first.length, hidden }
}
