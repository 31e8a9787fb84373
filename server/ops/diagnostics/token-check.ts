import type { Caller } from '#access/authorization/caller.ts'
import { can } from '#access/authorization/permissions.ts'
import { loadTokenHooks, type TokenHook } from '#model/hooks/token-hooks.ts'
import { isLimited } from '#model/hooks/token-use.ts'
import type { Database } from '#platform/database/connect.ts'
import type { TokenTargets } from '#platform/database/tables.ts'
import { bounded } from './database-checks.ts'
import { counted, type Finding, ok, warnings } from './run-checks.ts'

/** `tokenTargets`: where the installation allows tokens to go. */
export type TokenCheckDeps = { db: Database; tokenTargets: TokenTargets }

/** Where tokens go that leave the provider of their credential, and which hooks may no longer send theirs. */
export async function checkTokens({ db, tokenTargets }: TokenCheckDeps, caller: Caller): Promise<Finding> {
  const hooks = (await bounded(db, (trx) => loadTokenHooks(trx, 'leaving'))).filter(
    ({ outside }) => outside.length > 0,
  )
  const isStopped = ({ credential }: TokenHook) => isLimited(credential.targets, tokenTargets)
  const leaving = hooks.filter((hook) => !isStopped(hook))
  const stopped = hooks.filter(isStopped)
  if (hooks.length === 0) return ok('Hooks send tokens only to the providers of their credentials.')
  return warnings([
    {
      about: leaving,
      message: `${counted(leaving.length, 'hook')} ${sends(leaving)} ${originsOf(caller, leaving)}.`,
      remedy:
        'If this is not intended, set token_targets of the credential, or GANTRY_TOKEN_TARGETS, to provider.',
    },
    {
      about: stopped,
      message: `${counted(stopped.length, 'hook')} may not send tokens to ${originsOf(caller, stopped)}.`,
      remedy: 'Change the URL of what is stopped, or disable the hook.',
    },
  ])
}

const sends = ({ length }: readonly unknown[]) =>
  `${length === 1 ? 'sends a token' : 'send tokens'} to other origins than those of the provider:`

const MAX_ORIGINS = 10
const MAX_NAMES = 3

/** `https://a.example (Notify, Chat), https://b.example`: with the names that the caller may see. */
function originsOf(caller: Caller, hooks: readonly TokenHook[]): string {
  const byOrigin = new Map<string, string[]>()
  for (const hook of hooks)
    for (const origin of hook.outside) {
      const names = byOrigin.getOrInsert(origin, [])
      if (can(caller, 'hook:view', hook)) names.push(hook.name)
    }
  const shown = [...byOrigin].slice(0, MAX_ORIGINS).map(([origin, names]) => {
    const some = [...names.slice(0, MAX_NAMES), ...(names.length > MAX_NAMES ? ['…'] : [])]
    return names.length === 0 ? origin : `${origin} (${some.join(', ')})`
  })
  return [...shown, ...(byOrigin.size > MAX_ORIGINS ? ['…'] : [])].join(', ')
}
