import type { Transaction } from 'kysely'
import {
  can,
  type Grant,
  type Permission,
  ROLE_PERMISSIONS,
  type Scope,
} from '#access/authorization/permissions.ts'
import type { Tables } from '#platform/database/tables.ts'

/** What somebody has been given on one place, with what it allows there. */
export type Held = {
  id: number
  built_in_role: 'owner' | 'admin' | 'developer' | 'viewer' | null
  role_id: number | null
  organization_id: number
  project_id: number | null
  environment_id: number | null
  permissions: ReadonlySet<string>
}

/**
 * Everybody who changes members or roles of an organization holds it first, so that they do so one after the
 * other: the last owner is counted once, and nobody gives what has just been taken from them. False: it is gone.
 */
export async function holdMembers(trx: Transaction<Tables>, organizationId: number): Promise<boolean> {
  const row = await trx
    .selectFrom('organizations')
    .select('id')
    .where('id', '=', organizationId)
    .where('deleted_at', 'is', null)
    .forNoKeyUpdate()
    .executeTakeFirst()
  return row !== undefined
}

/** What somebody holds in an organization at this moment, oldest first. */
export async function loadHeld(
  trx: Transaction<Tables>,
  userId: number,
  organizationId: number,
): Promise<Held[]> {
  const rows = await trx
    .selectFrom('grants')
    .leftJoin('roles', 'roles.id', 'grants.role_id')
    .select([
      'grants.id',
      'grants.built_in_role',
      'grants.role_id',
      'grants.organization_id',
      'grants.project_id',
      'grants.environment_id',
      'roles.permissions',
    ])
    .where('grants.user_id', '=', userId)
    .where('grants.organization_id', '=', organizationId)
    .orderBy('grants.id')
    .execute()
  return rows.map(({ permissions, ...row }) => ({
    ...row,
    permissions: row.built_in_role ? ROLE_PERMISSIONS[row.built_in_role] : new Set(permissions),
  }))
}

/** Pure: what somebody would have to have, and has not, to decide about these grants. */
export function lackingFor(
  authority: readonly Grant[],
  grants: readonly (Scope & { permissions: ReadonlySet<string> })[],
): Permission[] {
  const lacking = grants.flatMap((grant) =>
    [...grant.permissions].filter(
      (permission) => !can({ grants: authority }, permission as Permission, grant),
    ),
  )
  return [...new Set(lacking)].sort() as Permission[]
}

/** Pure: an owner of the whole organization, not of a part of it. */
export function isOwning(grant: Pick<Held, 'built_in_role' | 'project_id'>): boolean {
  return grant.built_in_role === 'owner' && grant.project_id === null
}
