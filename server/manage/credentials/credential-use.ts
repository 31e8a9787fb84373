import { type Selectable, sql } from 'kysely'
import type { Caller } from '#access/authorization/caller.ts'
import { can, type Scope } from '#access/authorization/permissions.ts'
import { loadTokenHooks, type TokenHook } from '#model/hooks/token-hooks.ts'
import { outsideOrigins } from '#model/hooks/token-use.ts'
import { anyOf } from '#platform/database/any-of.ts'
import type { Database, Transaction } from '#platform/database/connect.ts'
import { findRow } from '#platform/database/rows.ts'
import type { CredentialsTable, ResourceType } from '#platform/database/tables.ts'
import { conflict, type HttpProblem, invalidAt, unknownAt } from '#platform/http/problems.ts'

// Which servers, applications and outgoing hooks use a credential, and who may give it to them.

type UsableCredential = Pick<Selectable<CredentialsTable>, 'id' | 'provider_code' | 'base_url' | 'auth_type'>

/**
 * Whether the caller may give this credential to a resource; it then cannot be removed until the transaction
 * ends. A credential of another organization is reported like one that does not exist.
 */
export async function authorizeUse(
  trx: Transaction,
  caller: Caller,
  organizationId: number,
  credentialId: number,
): Promise<{ kind: 'usable'; credential: UsableCredential } | HttpProblem> {
  const scope = { organization_id: organizationId }
  const named = { id: credentialId, organization_id: organizationId, deleted_at: null }
  const columns = ['id', 'provider_code', 'base_url', 'auth_type', 'active'] as const
  const found = await findRow(trx, 'credentials', named, columns, 'for share')
  if (!found || !can(caller, 'credential:view', scope))
    return unknownAt('credential_id', 'does not exist in this organization, or is not visible to you')
  if (!can(caller, 'credential:run', scope))
    return { kind: 'forbidden', reason: 'You need the permission credential:run to use a credential.' }
  const { active, ...credential } = found
  return active ? { kind: 'usable', credential } : invalidAt('credential_id', 'is inactive')
}

/** `pipeline_id`: of a hook. */
type Use = Scope & { credential_id: number; type: ResourceType; id: number; name: string; pipeline_id: null }
type HookUse = Scope & { credential_id: number; type: 'hook'; id: string; name: string; pipeline_id: number }

/** Everything that uses one of these credentials, by type and name. */
async function loadUses(db: Database, credentialIds: readonly number[]): Promise<(Use | HookUse)[]> {
  if (credentialIds.length === 0) return []
  const { rows } = await sql<Use | HookUse>`
    select used.*, p.organization_id, e.project_id
    from (
      select 'application' as type, to_jsonb(id) as id, name, null::bigint as pipeline_id, environment_id, credential_id,
        deleted_at from applications
      union all
      select 'server', to_jsonb(id), name, null, environment_id, credential_id, deleted_at from servers
      union all
      select 'hook', to_jsonb(id), name, pipeline_id, environment_id, credential_id, deleted_at from hooks
    ) used
    join environments e on e.id = used.environment_id join projects p on p.id = e.project_id
    where ${anyOf('used.credential_id', credentialIds)} and used.deleted_at is null
    order by used.type = 'hook', used.type, used.name, used.id`.execute(db)
  return rows
}

/** By credential, what the caller may see of what uses it. */
export async function loadVisibleUses(db: Database, caller: Caller, credentialIds: readonly number[]) {
  const uses = await loadUses(db, credentialIds)
  return Map.groupBy(
    uses.filter((use) => can(caller, `${use.type}:view`, use)),
    (use) => use.credential_id,
  )
}

/** Counts everything that uses the credential, and names what the caller may see. */
export async function checkUnused(trx: Transaction, caller: Caller, credentialId: number) {
  const uses = await loadUses(trx, [credentialId])
  if (uses.length === 0) return undefined
  const byType = [...Map.groupBy(uses, (use) => use.type)]
  const errors = Object.fromEntries(
    byType.map(([type, ofType]) => [`${type}s`, [`${listUses(type, caller, ofType)} it`]]),
  )
  const users = Object.values(errors).flat().join('; ')
  return conflict(`The credential is in use: ${users}. Give them another one first.`, errors)
}

const MAX_NAMES = 5

function listUses(type: ResourceType | 'hook', caller: Caller, uses: readonly (Use | HookUse)[]): string {
  const names = uses.filter((use) => can(caller, `${type}:view`, use)).map(({ name }) => name)
  const more = uses.length > Math.min(names.length, MAX_NAMES)
  const shown = [...names.slice(0, MAX_NAMES), ...(more ? ['…'] : [])].join(', ')
  return uses.length === 1 ? `1 ${type} (${shown}) uses` : `${uses.length} ${type}s (${shown}) use`
}

/** The active hooks that could no longer send, if the token may go to its provider only. */
export async function findStopped(
  db: Database,
  { id, provider_code: provider, base_url: baseUrl }: Omit<UsableCredential, 'auth_type'>,
): Promise<TokenHook[]> {
  const hooks = await loadTokenHooks(db, { credentialId: id })
  return hooks
    .map((hook) => ({ ...hook, outside: outsideOrigins({ provider, baseUrl }, hook.origins) }))
    .filter(({ active, outside }) => active && outside.length > 0)
}

const MAX_STOPPED = 20

/** Counts all of them, and names those that the caller may see, each with where it sends the token. */
export function describeStopped(caller: Caller, hooks: readonly TokenHook[]): HttpProblem | undefined {
  if (hooks.length === 0) return undefined
  const named = hooks
    .filter((hook) => can(caller, 'hook:view', hook))
    .slice(0, MAX_STOPPED)
    .map(({ name, outside }) => `${name} sends the token to ${outside.join(' and ')}`)
  const more = hooks.length - named.length
  const lines = more > 0 ? [...named, `${more} more ${more === 1 ? 'hook' : 'hooks'}`] : named
  const count = hooks.length === 1 ? '1 hook' : `${hooks.length} hooks`
  return conflict(
    `This would stop ${count}: ${lines.join('; ')}. Repeat the request with ?stop_hooks=true to limit the token anyway.`,
    { token_targets: lines.map((line) => `would stop: ${line}`) },
  )
}
