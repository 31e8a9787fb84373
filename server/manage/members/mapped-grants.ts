import { sql } from 'kysely'
import type { Actor } from '#access/audit/record.ts'
import { type BuiltInRole, ROLE_PERMISSIONS } from '#access/authorization/permissions.ts'
import type { Transaction } from '#platform/database/connect.ts'
import { findRow, findRows } from '#platform/database/rows.ts'
import type { MappedRole } from '#platform/oidc-settings.ts'
import { type HeldGrant, isOwner, isSameGrant, loadGrants, lockMembers, type NewGrant } from './grants.ts'
import { checkLastOwner, passOwnership, storeGrants } from './manage-members.ts'

/** Roles that were not granted because something that they name does not exist. */
export type SkippedRole = MappedRole & { reason: 'organization' | 'project' | 'environment' | 'role' }

/**
 * Replaces the grants that come from groups of the identity provider. What people granted stays, and so does the last
 * owner of an organization.
 */
export async function replaceMappedGrants(
  trx: Transaction,
  { userId, actor }: { userId: number; actor: Actor },
  roles: readonly MappedRole[],
): Promise<SkippedRole[]> {
  const named = await findOrganizations(trx, roles)
  const held = await loadMappedOrganizations(trx, userId)
  const skipped: SkippedRole[] = roles
    .filter(({ organization }) => !named.has(organization))
    .map((role) => ({ ...role, reason: 'organization' }))
  // Always in the same order, so that two sign-ins cannot deadlock.
  for (const organizationId of [...new Set([...named.values(), ...held])].sort((one, two) => one - two)) {
    if (!(await lockMembers(trx, organizationId))) continue
    const wanted: NewGrant[] = []
    for (const role of roles.filter(({ organization }) => named.get(organization) === organizationId)) {
      const grant = await resolveRole(trx, organizationId, role)
      if (typeof grant === 'string') skipped.push({ ...role, reason: grant })
      else if (!wanted.some((other) => isSameGrant(other, grant))) wanted.push(grant)
    }
    await replaceInOrganization(trx, { userId, actor, organizationId }, wanted)
  }
  return skipped
}

async function replaceInOrganization(
  trx: Transaction,
  { userId, actor, organizationId }: { userId: number; actor: Actor; organizationId: number },
  wanted: readonly NewGrant[],
): Promise<void> {
  const held = await loadGrants(trx, userId, organizationId)
  const isWanted = (grant: HeldGrant) => wanted.some((other) => isSameGrant(grant, other))
  const obsolete = held.filter((grant) => grant.source === 'oidc' && !isWanted(grant))
  const isLastOwner = (await checkLastOwner(trx, organizationId, userId, obsolete)) !== undefined
  const removed = isLastOwner ? obsolete.filter((grant) => !isOwner(grant)) : obsolete
  const added = wanted.filter((one) => !held.some((other) => isSameGrant(one, other)))
  if (removed.length === 0 && added.length === 0) return

  const after = [...held.filter((grant) => !removed.includes(grant)), ...added]
  const verb = held.length === 0 ? 'created' : after.length === 0 ? 'removed' : 'changed'
  const { email } = (await findRow(trx, 'users', { id: userId }, ['email']))!
  const member = { organizationId, userId, email }
  await storeGrants(trx, actor, member, verb, { held, removed, added, after, source: 'oidc' })
  await passOwnership(trx, organizationId)
}

/** Ids by `url_slug`. */
async function findOrganizations(trx: Transaction, roles: readonly MappedRole[]) {
  const rows = await trx
    .selectFrom('organizations')
    .select(['id', 'url_slug'])
    .where(sql<boolean>`url_slug = any(${roles.map(({ organization }) => organization)}::text[])`)
    .where('deleted_at', 'is', null)
    .execute()
  return new Map(rows.map(({ id, url_slug }) => [url_slug, id]))
}

async function loadMappedOrganizations(trx: Transaction, userId: number): Promise<number[]> {
  const rows = await findRows(trx, 'grants', { user_id: userId, source: 'oidc' }, ['organization_id'])
  return rows.map((row) => row.organization_id)
}

/** Or what does not exist. */
async function resolveRole(
  trx: Transaction,
  organization_id: number,
  { project, environment, role }: MappedRole,
): Promise<NewGrant | SkippedRole['reason']> {
  const project_id =
    project === undefined ? null : await findByName(trx, 'projects', organization_id, project)
  if (project_id === undefined) return 'project'
  const environment_id =
    environment === undefined ? null : await findByName(trx, 'environments', project_id!, environment)
  if (environment_id === undefined) return 'environment'
  const scope = { organization_id, project_id, environment_id }
  if (Object.hasOwn(ROLE_PERMISSIONS, role)) {
    const built_in_role = role as BuiltInRole
    return { ...scope, built_in_role, role_id: null, permissions: ROLE_PERMISSIONS[built_in_role] }
  }
  const custom = await findRow(trx, 'roles', { organization_id, name: role }, ['id', 'permissions'])
  if (!custom) return 'role'
  return { ...scope, built_in_role: null, role_id: custom.id, permissions: new Set(custom.permissions) }
}

async function findByName(
  trx: Transaction,
  table: 'projects' | 'environments',
  parentId: number,
  name: string,
): Promise<number | undefined> {
  const parent = table === 'projects' ? 'organization_id' : 'project_id'
  const { rows } = await sql<{ id: number }>`
    select id from ${sql.table(table)} where ${sql.ref(parent)} = ${parentId} and name = ${name} and deleted_at is null
    for share`.execute(trx)
  return rows[0]?.id
}
