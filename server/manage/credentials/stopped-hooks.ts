import type { Caller } from '#access/authorization/caller.ts'
import { can } from '#access/authorization/permissions.ts'
import { loadTokenHooks, type TokenHook } from '#model/hooks/token-hooks.ts'
import { outsideOrigins } from '#model/hooks/token-use.ts'
import type { Database } from '#platform/database/connect.ts'
import { conflict, type HttpProblem } from '#platform/http/problems.ts'
import type { CredentialRow } from './read-credentials.ts'

/** The active hooks that could no longer send, if the token may go to its provider only. */
export async function findStopped(
  db: Database,
  {
    id,
    provider_code: provider,
    base_url: baseUrl,
  }: Pick<CredentialRow, 'id' | 'provider_code' | 'base_url'>,
): Promise<TokenHook[]> {
  const hooks = await loadTokenHooks(db, { credentialId: id })
  return hooks
    .map((hook) => ({ ...hook, outside: outsideOrigins({ provider, baseUrl }, hook.origins) }))
    .filter(({ active, outside }) => active && outside.length > 0)
}

const MAX_NAMES = 20

/** Counts all of them, and names those that the caller may see, each with where it sends the token. */
export function describeStopped(caller: Caller, hooks: readonly TokenHook[]): HttpProblem | undefined {
  if (hooks.length === 0) return undefined
  const named = hooks
    .filter((hook) => can(caller, 'hook:view', hook))
    .slice(0, MAX_NAMES)
    .map(({ name, outside }) => `${name} sends the token to ${outside.join(' and ')}`)
  const more = hooks.length - named.length
  const lines = more > 0 ? [...named, `${more} more ${more === 1 ? 'hook' : 'hooks'}`] : named
  const count = hooks.length === 1 ? '1 hook' : `${hooks.length} hooks`
  return conflict(
    `This would stop ${count}: ${lines.join('; ')}. Repeat the request with ?stop_hooks=true to limit the token anyway.`,
    { token_targets: lines.map((line) => `would stop: ${line}`) },
  )
}
