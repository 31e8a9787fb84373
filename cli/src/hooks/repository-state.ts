// How an incoming hook learns about pushes: a webhook that Gantry watches at the repository's host, or polling.
import type { components, Gantry } from '@gantry/client'
import type { Named } from '../names.ts'
import { collect, eachAtOnce } from '../walk.ts'

type Hook = components['schemas']['Hook']
type RepositoryState = Pick<Hook, 'connection' | 'poll'>

const NEITHER: RepositoryState = { connection: null, poll: null }

/**
 * The hooks among the names, each with its connection and what polling has found. Both are null in environments that are not
 * among them: the caller may not view those.
 */
export async function withRepositoryState(
  gantry: Gantry,
  names: readonly Named[],
): Promise<(Named & RepositoryState)[]> {
  const hooks = names.filter(({ type }) => type !== 'environment')
  const wanted = new Set(
    hooks.filter(({ type }) => type === 'incoming_hook').map(({ environment_id }) => environment_id),
  )
  const environments = names.filter(
    ({ type, environment_id }) => type === 'environment' && wanted.has(environment_id),
  )
  const incoming = await eachAtOnce(environments, ({ id }) => {
    const params = { path: { id: Number(id) }, query: { 'filter[type]': 'incoming', per_page: 100 } } as const
    return collect(gantry.list('/environments/{id}/hooks', { params }))
  })
  const states = new Map(incoming.map(({ id, connection, poll }) => [id, { connection, poll }]))
  return hooks.map((hook) => ({ ...hook, ...(states.get(String(hook.id)) ?? NEITHER) }))
}

/** `connected: acme/shop at github`, or what is wrong. */
export function connectionText(connection: Hook['connection']): string | null {
  if (!connection) return null
  const { state, provider, repository, problem } = connection
  return `${state}: ${repository} at ${provider}${problem ? `. ${problem}` : ''}`
}

/** When the repository was asked, or why that failed. */
export function pollText(poll: Hook['poll']): string | null {
  return poll && (poll.problem ?? `last asked ${poll.polled_at ?? 'never'}`)
}

/** Of either, for one line of a list. */
export function repositoryText({ connection, poll }: RepositoryState): string {
  const polling = pollText(poll)
  return connectionText(connection) ?? (polling === null ? '' : `polls: ${polling}`)
}

export const isTroubled = ({ connection, poll }: RepositoryState) =>
  (connection !== null && connection.problem !== null) || (poll !== null && poll.problem !== null)
