// What a person asks for in the run dialog, and the body that asks the API for it. Pure.
import type { Operations } from '../api-types.ts'

export type RunBody = Operations['POST /pipelines/{id}/actions']['body']

export type Wish = {
  type: 'deploy' | 'redeploy' | 'rollback'
  sourceType: 'branch' | 'tag' | 'commit'
  sourceRef: string
  /** Ids of servers that are to be left out. */
  without: number[]
  comment: string
  /** One `name=value` in each line. */
  variables: string
}

export const NO_WISH: Wish = {
  type: 'deploy',
  sourceType: 'branch',
  sourceRef: '',
  without: [],
  comment: '',
  variables: '',
}

/** Only what differs from what the pipeline does by itself. */
export function toBody(wish: Wish, isDeploy: boolean, servers: number[]): RunBody {
  const ref = wish.sourceRef.trim()
  const variables = readVariables(wish.variables)
  return {
    ...(isDeploy && wish.type !== 'deploy' && { type: wish.type }),
    ...(isDeploy &&
      wish.type === 'deploy' &&
      ref !== '' && { source_type: wish.sourceType, source_ref: ref }),
    ...(wish.without.length > 0 && { servers: servers.filter((id) => !wish.without.includes(id)) }),
    ...(wish.comment.trim() !== '' && { trigger_comment: wish.comment.trim() }),
    ...(Object.keys(variables).length > 0 && { variables }),
  }
}

export function readVariables(text: string): Record<string, string> {
  const lines = text.split('\n').filter((line) => line.includes('='))
  return Object.fromEntries(
    lines.map((line) => {
      const at = line.indexOf('=')
      return [line.slice(0, at).trim(), line.slice(at + 1).trim()]
    }),
  )
}
