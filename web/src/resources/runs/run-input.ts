// The values of the run dialog, and the request body they become. Pure.
import type { RunBody } from '#web/base/api/types.ts'
import { readVariables, variablesError } from './run-variables.ts'

export type RunInput = {
  type: 'deploy' | 'redeploy'
  sourceType: 'branch' | 'tag' | 'commit'
  sourceRef: string
  /** Ids of servers to leave out. */
  excluded: number[]
  comment: string
  /** One `name=value` per line. */
  variables: string
}

export const EMPTY_INPUT: RunInput = {
  type: 'deploy',
  sourceType: 'branch',
  sourceRef: '',
  excluded: [],
  comment: '',
  variables: '',
}

/** Only what differs from the pipeline's defaults. */
export function toBody(input: RunInput, isDeploy: boolean, servers: number[]): RunBody {
  const ref = input.sourceRef.trim()
  const comment = input.comment.trim()
  const { variables } = readVariables(input.variables)
  return {
    ...(isDeploy && input.type !== 'deploy' && { type: input.type }),
    ...(isDeploy &&
      input.type === 'deploy' &&
      ref !== '' && { source_type: input.sourceType, source_ref: ref }),
    ...(input.excluded.length > 0 && { servers: servers.filter((id) => !input.excluded.includes(id)) }),
    ...(comment !== '' && { trigger_comment: comment }),
    ...(Object.keys(variables).length > 0 && { variables }),
  }
}

/** What can be said without asking the API, by input. */
export function inputProblems(input: RunInput, isDeploy: boolean, servers: number[]) {
  const needsRef = isDeploy && input.type === 'deploy' && input.sourceType !== 'branch'
  return {
    sourceRef: needsRef && input.sourceRef.trim() === '' ? `Enter a ${input.sourceType}.` : undefined,
    excluded:
      servers.length > 0 && servers.every((id) => input.excluded.includes(id))
        ? 'Select at least one server.'
        : undefined,
    variables: variablesError(input.variables),
  }
}

/** Which input shows the API's error for a field of the body. */
export function inputOf(field: string): keyof RunInput | undefined {
  return INPUTS[field.split('.')[0]!]
}

const INPUTS: Record<string, keyof RunInput> = {
  type: 'type',
  source_type: 'sourceType',
  source_ref: 'sourceRef',
  servers: 'excluded',
  trigger_comment: 'comment',
  variables: 'variables',
}
