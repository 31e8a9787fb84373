import type { Transaction } from 'kysely'
import { can, type Grant, ROLE_PERMISSIONS } from '#access/authorization/permissions.ts'
import { lockEnvironmentScope, lockProject } from '#model/inventory/lock-scope.ts'
import type { Tables } from '#platform/database/tables.ts'
import type { Held } from './authority.ts'
import type { GrantInput } from './schemas.ts'

export type NewGrant = Omit<Held, 'id'>

export type Resolved =
  | { kind: 'grant'; grant: NewGrant }
  | { kind: 'invalid'; field: string; message: string }
  | { kind: 'missing'; field: string }

/** What is wished for, if it is there, in this organization, and to be seen by whoever wishes it. */
export async function resolveGrant(
  trx: Transaction<Tables>,
  authority: readonly Grant[],
  organizationId: number,
  wish: GrantInput,
): Promise<Resolved> {
  if ((wish.role === undefined) === (wish.role_id === undefined))
    return { kind: 'invalid', field: 'role', message: 'give either role or role_id' }
  const place = await resolvePlace(trx, authority, organizationId, wish)
  if ('kind' in place) return place
  if (wish.role !== undefined) {
    const permissions = ROLE_PERMISSIONS[wish.role]
    return { kind: 'grant', grant: { ...place, built_in_role: wish.role, role_id: null, permissions } }
  }
  const role = await trx
    .selectFrom('roles')
    .select(['id', 'permissions'])
    .where('id', '=', wish.role_id!)
    .where('organization_id', '=', organizationId)
    .executeTakeFirst()
  if (!role) return { kind: 'missing', field: 'role_id' }
  const permissions = new Set(role.permissions)
  return { kind: 'grant', grant: { ...place, built_in_role: null, role_id: role.id, permissions } }
}

type GrantPlace = Pick<NewGrant, 'organization_id' | 'project_id' | 'environment_id'>

async function resolvePlace(
  trx: Transaction<Tables>,
  authority: readonly Grant[],
  organization_id: number,
  { project_id = null, environment_id = null }: GrantInput,
): Promise<GrantPlace | Extract<Resolved, { kind: 'missing' }>> {
  const caller = { grants: authority }
  if (project_id !== null) {
    const project = await lockProject(trx, project_id)
    if (project?.organization_id !== organization_id || !can(caller, 'project:view', project))
      return { kind: 'missing', field: 'project_id' }
  }
  if (environment_id === null) return { organization_id, project_id, environment_id }
  const environment = await lockEnvironmentScope(trx, environment_id)
  const isHere =
    environment?.organization_id === organization_id &&
    (project_id === null || environment.project_id === project_id)
  if (!isHere || !can(caller, 'environment:view', environment))
    return { kind: 'missing', field: 'environment_id' }
  return { organization_id, project_id: environment.project_id, environment_id }
}

/** Pure: whether two say the same. */
export function isSameGrant(one: NewGrant, other: NewGrant): boolean {
  return (
    one.built_in_role === other.built_in_role &&
    one.role_id === other.role_id &&
    one.project_id === other.project_id &&
    one.environment_id === other.environment_id
  )
}
