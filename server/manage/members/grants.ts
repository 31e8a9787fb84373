import { sql } from 'kysely'
import {
  type BuiltInRole,
  can,
  type Permission,
  ROLE_PERMISSIONS,
  type Scope,
} from '#access/authorization/permissions.ts'
import { lockEnvironmentScope, lockProject } from '#model/inventory/lock-scope.ts'
import { anyOf, byId } from '#platform/database/any-of.ts'
import type { Database, Transaction } from '#platform/database/connect.ts'
import { findRow } from '#platform/database/rows.ts'
import { FieldErrors, type HttpProblem } from '#platform/http/problems.ts'
import type { GrantInput } from './schemas.ts'

/** A role in one scope, with what it allows there. */
export type NewGrant = {
  built_in_role: BuiltInRole | null
  role_id: number | null
  organization_id: number
  project_id: number | null
  environment_id: number | null
  permissions: ReadonlySet<string>
}
export type HeldGrant = NewGrant & { id: number; source: 'manual' | 'oidc' }

/**
 * Everything that changes members or roles of an organization locks it first, so that changes happen one after the
 * other: the last owner is counted once, and nobody grants what has just been revoked from them. False: it is gone.
 */
export async function lockMembers(trx: Transaction, organizationId: number): Promise<boolean> {
  const { rows } = await sql`
    select from organizations where id = ${organizationId} and deleted_at is null for no key update`.execute(
    trx,
  )
  return rows.length > 0
}

/** Oldest first. */
export function selectGrants(db: Database, organizationId: number, userIds: readonly number[]) {
  return db
    .selectFrom('grants')
    .leftJoin('roles', 'roles.id', 'grants.role_id')
    .selectAll('grants')
    .select(['roles.name as role_name', 'roles.permissions'])
    .where('grants.organization_id', '=', organizationId)
    .where(anyOf('grants.user_id', userIds))
    .orderBy('grants.id')
    .execute()
}

/** What a user currently holds in an organization. */
export async function loadGrants(db: Database, userId: number, organizationId: number): Promise<HeldGrant[]> {
  const rows = await selectGrants(db, organizationId, [userId])
  return rows.map(({ user_id, created_at, role_name, permissions, ...row }) => ({
    ...row,
    permissions: row.built_in_role ? ROLE_PERMISSIONS[row.built_in_role] : new Set(permissions),
  }))
}

type RoleColumns = Pick<NewGrant, 'built_in_role' | 'role_id' | 'project_id' | 'environment_id'>

/** Pure: the role of a grant or an offer, and where it applies, as the API shows it. */
export function presentRole(row: RoleColumns & { role_name: string | null }) {
  const { built_in_role: role, role_id, project_id, environment_id } = row
  return { role, role_id, role_name: row.role_name ?? role!, project_id, environment_id }
}

/** Pure: nobody grants or revokes what they do not hold themselves, in the same scope. */
export function checkAuthority(
  authority: readonly HeldGrant[],
  grants: readonly (Scope & { permissions: ReadonlySet<string> })[],
): HttpProblem | undefined {
  const missing = grants.flatMap((grant) =>
    [...grant.permissions].filter(
      (permission) => !can({ grants: authority }, permission as Permission, grant),
    ),
  )
  if (missing.length === 0) return undefined
  const permissions = [...new Set(missing)].sort().join(', ')
  const reason = `You can only grant or revoke permissions that you have yourself; you lack ${permissions} there.`
  return { kind: 'forbidden', reason }
}

/** Pure: owns the whole organization, not only a part of it. */
export function isOwner(grant: Pick<NewGrant, 'built_in_role' | 'project_id'>): boolean {
  return grant.built_in_role === 'owner' && grant.project_id === null
}

/** Pure. */
export function isSameGrant(one: NewGrant, other: NewGrant): boolean {
  return (['built_in_role', 'role_id', 'project_id', 'environment_id'] as const).every(
    (field) => one[field] === other[field],
  )
}

/**
 * The requested grants, each once, if their roles and scopes exist in this organization and the caller can see them;
 * otherwise every error at once. `path`: where the input at that index is in the request body.
 */
export async function resolveGrants(
  trx: Transaction,
  authority: readonly HeldGrant[],
  organizationId: number,
  inputs: readonly GrantInput[],
  path: (index: number) => string = () => '',
): Promise<{ kind: 'resolved'; grants: NewGrant[] } | HttpProblem> {
  const [invalid, unknown] = [new FieldErrors(), new FieldErrors()]
  const grants: NewGrant[] = []
  for (const [index, input] of inputs.entries()) {
    if ((input.role === undefined) === (input.role_id === undefined)) {
      invalid.add(`${path(index)}role`, 'give either role or role_id')
      continue
    }
    const scope = await resolveScope(trx, authority, organizationId, input)
    const role = typeof scope === 'object' ? await resolveRole(trx, organizationId, input) : undefined
    if (typeof scope === 'string' || !role)
      unknown.add(
        `${path(index)}${typeof scope === 'string' ? scope : 'role_id'}`,
        'does not exist, or you cannot access it',
      )
    else if (!grants.some((grant) => isSameGrant(grant, { ...scope, ...role })))
      grants.push({ ...scope, ...role })
  }
  if (unknown.any) return { kind: 'unknown', errors: unknown.found }
  return invalid.any ? { kind: 'invalid', errors: invalid.found } : { kind: 'resolved', grants }
}

async function resolveRole(trx: Transaction, organizationId: number, { role, role_id }: GrantInput) {
  if (role !== undefined) return { built_in_role: role, role_id: null, permissions: ROLE_PERMISSIONS[role] }
  const named = { id: role_id!, organization_id: organizationId }
  const custom = await findRow(trx, 'roles', named, ['id', 'permissions'])
  return custom && { built_in_role: null, role_id: custom.id, permissions: new Set(custom.permissions) }
}

/** Or the field that names nothing that the caller can see here. */
async function resolveScope(
  trx: Transaction,
  authority: readonly HeldGrant[],
  organization_id: number,
  { project_id = null, environment_id = null }: GrantInput,
) {
  const caller = { grants: authority }
  if (project_id !== null) {
    const project = await lockProject(trx, project_id)
    if (project?.organization_id !== organization_id || !can(caller, 'project:view', project))
      return 'project_id'
  }
  if (environment_id === null) return { organization_id, project_id, environment_id }
  const environment = await lockEnvironmentScope(trx, environment_id)
  const isHere =
    environment?.organization_id === organization_id &&
    (project_id === null || environment.project_id === project_id)
  if (!isHere || !can(caller, 'environment:view', environment)) return 'environment_id'
  return { organization_id, project_id: environment.project_id, environment_id }
}

/** For the audit log: roles by the name that they have at this moment. */
export async function describeGrants(trx: Transaction, grants: readonly NewGrant[]): Promise<object[]> {
  const ids = grants.flatMap((grant) => grant.role_id ?? [])
  const roles = byId(await trx.selectFrom('roles').select(['id', 'name']).where(anyOf('id', ids)).execute())
  return grants.map(({ built_in_role, role_id, project_id, environment_id }) => ({
    role: built_in_role ?? roles.get(role_id!)!.name,
    role_id,
    project_id,
    environment_id,
  }))
}
