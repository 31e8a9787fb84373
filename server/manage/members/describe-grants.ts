import type { Transaction } from 'kysely'
import { anyOf, byId } from '#platform/database/any-of.ts'
import type { Tables } from '#platform/database/tables.ts'
import type { NewGrant } from './resolve-grant.ts'

/** What somebody was given, as the audit tells it: roles by the name that they had at that moment. */
export async function describeGrants(
  trx: Transaction<Tables>,
  grants: readonly NewGrant[],
): Promise<object[]> {
  const ids = grants.flatMap((grant) => grant.role_id ?? [])
  const roles = byId(await trx.selectFrom('roles').select(['id', 'name']).where(anyOf('id', ids)).execute())
  return grants.map(({ built_in_role, role_id, project_id, environment_id }) => ({
    role: built_in_role ?? roles.get(role_id!)!.name,
    role_id,
    project_id,
    environment_id,
  }))
}
