import type { Transaction } from 'kysely'
import type { Caller } from '#access/authorization/caller.ts'
import { can, type Scope } from '#access/authorization/permissions.ts'
import { LOCAL_ONLY } from '#model/pipelines/local-servers.ts'
import type { ResourceType, Tables } from '#platform/database/tables.ts'
import { conflict, type HttpProblem } from '#platform/http/problems.ts'
import type { ErrorsByField } from '#platform/http/validation.ts'

export type CredentialUser = Scope & { type: ResourceType; name: string }

/** What would stand without its credential, were that removed. */
export async function findUsers(trx: Transaction<Tables>, credentialId: number): Promise<CredentialUser[]> {
  const users: CredentialUser[] = []
  for (const type of ['application', 'server'] as const) {
    const rows = await trx
      .selectFrom(`${type}s as holder` as 'servers as holder')
      .innerJoin('environments', 'environments.id', 'holder.environment_id')
      .innerJoin('projects', 'projects.id', 'environments.project_id')
      .select(['holder.name', 'projects.organization_id', 'environments.project_id', 'holder.environment_id'])
      .where('holder.credential_id', '=', credentialId)
      .where('holder.deleted_at', 'is', null)
      .orderBy('holder.name')
      .execute()
    users.push(...rows.map((row) => ({ ...row, type })))
  }
  return users
}

/** Counts all of them, and names those that the caller may see. Pure. */
export function refuseWhileUsed(caller: Caller, users: readonly CredentialUser[]): HttpProblem | undefined {
  if (users.length === 0) return undefined
  const errors: ErrorsByField = {}
  for (const [type, ofType] of Map.groupBy(users, (user) => user.type)) {
    errors[`${type}s`] = [`${sayWho(type, caller, ofType)} it`]
  }
  const who = Object.values(errors).flat().join('; ')
  return conflict(`The credential is in use: ${who}. Give them another one first.`, errors)
}

const MOST_NAMES = 5

function sayWho(type: ResourceType, caller: Caller, users: readonly CredentialUser[]): string {
  const names = users.filter((user) => can(caller, `${type}:view`, user)).map(({ name }) => name)
  const more = users.length > Math.min(names.length, MOST_NAMES)
  const shown = [...names.slice(0, MOST_NAMES), ...(more ? ['…'] : [])].join(', ')
  return users.length === 1 ? `1 ${type} (${shown}) uses` : `${users.length} ${type}s (${shown}) use`
}

/**
 * A repository such as `acme/shop` is looked for at the base_url of its credential. Where the source of what runs on
 * this machine comes from is for administrators of the installation to decide.
 */
export async function refuseLocalUsers(
  trx: Transaction<Tables>,
  caller: Caller,
  credentialId: number,
): Promise<HttpProblem | undefined> {
  if (caller.is_instance_admin) return undefined
  const local = await trx
    .selectFrom('applications')
    .innerJoin('application_servers', 'application_servers.application_id', 'applications.id')
    .innerJoin('servers', 'servers.id', 'application_servers.server_id')
    .select('applications.id')
    .where('applications.credential_id', '=', credentialId)
    .where('servers.provider_code', '=', 'local')
    .executeTakeFirst()
  return local && { kind: 'forbidden', reason: LOCAL_ONLY }
}
