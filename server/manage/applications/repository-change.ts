import { isDeepStrictEqual } from 'node:util'
import type { Caller } from '#access/authorization/caller.ts'
import { can } from '#access/authorization/permissions.ts'
import { type Provider, type Remote, readAddress } from '#adapters/repositories/address.ts'
import { loadTokenHooks } from '#model/hooks/token-hooks.ts'
import type { LockedEnvironment } from '#model/pipelines/lock-environment.ts'
import type { Transaction } from '#platform/database/connect.ts'
import { type HttpProblem, listNames } from '#platform/http/problems.ts'

/** Where the source is once an input is stored. */
export type SourceInput = { repository: string; provider: Provider | null }

/**
 * Hooks of an application send tokens about its repository, for example to set the status of a commit there. To make it
 * another repository is to use their credentials for that one.
 */
export async function checkHookTokens(
  trx: Transaction,
  caller: Caller,
  scope: LockedEnvironment,
  applicationId: number,
): Promise<HttpProblem | undefined> {
  if (can(caller, 'credential:run', { organization_id: scope.organization_id })) return undefined
  const hooks = await loadTokenHooks(trx, { applicationId })
  if (hooks.length === 0) return undefined
  const names = can(caller, 'hook:view', scope) ? hooks.map(({ name }) => name) : []
  const which = names.length > 0 ? listNames('hook', names) : `${hooks.length} of its hooks`
  return {
    kind: 'forbidden',
    reason: `Outgoing hooks send tokens of credentials about this application's repository (${which}). To change the repository you need the permission credential:run.`,
  }
}

/**
 * Whether two addresses name one repository: the case of the host, its default port, `.git` and a slash at the end make no
 * difference. Everything else does, such as the case of a path: some hosts tell it apart. Pure.
 */
export function isSameRepository(one: SourceInput, other: SourceInput): boolean {
  if (isDeepStrictEqual(one, other)) return true
  const [first, second] = [one, other].map(({ repository, provider }) => readAddress(repository, provider))
  if (first?.kind !== 'remote' || second?.kind !== 'remote') return false
  return identityOf(first.remote) === identityOf(second.remote)
}

function identityOf({ protocol, host, port, username, path }: Remote): string {
  const plainPath = path.replace(/\/+$/, '').replace(/\.git$/, '')
  return JSON.stringify([protocol, host?.replace(/\.$/, ''), port, username, plainPath])
}
