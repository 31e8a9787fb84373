// The values of the run dialog, and the request body they become. Pure.
import type { RunBody } from '../api/types.ts'

export type RunInput = {
  type: 'deploy' | 'redeploy' | 'rollback'
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
  const variables = parseVariables(input.variables)
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

function parseVariables(text: string): Record<string, string> {
  const lines = text.split('\n').filter((line) => line.includes('='))
  return Object.fromEntries(
    lines.map((line) => {
      const at = line.indexOf('=')
      return [line.slice(0, at).trim(), line.slice(at + 1).trim()]
    }),
  )
}
