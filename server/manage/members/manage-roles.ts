import { isDeepStrictEqual } from 'node:util'
import { type Selectable, sql } from 'kysely'
import { auditorOf, type Change, type Creation, type Removal } from '#access/audit/record.ts'
import type { Caller } from '#access/authorization/caller.ts'
import { BUILT_IN_ROLES } from '#access/authorization/permissions.ts'
import type { Database, Transaction } from '#platform/database/connect.ts'
import { insertRow, rowVersion, updateRow } from '#platform/database/rows.ts'
import type { RolesTable } from '#platform/database/tables.ts'
import { isOutdated } from '#platform/http/if-match.ts'
import type { Page } from '#platform/http/pagination.ts'
import { CHANGED_MEANWHILE, conflict, GONE, type HttpProblem, invalidAt } from '#platform/http/problems.ts'
import { readPage } from '#platform/http/read-page.ts'
import { checkAuthority, loadGrants, lockMembers } from './grants.ts'
import type { RoleBody, RoleChange } from './schemas.ts'

export type RoleRow = Selectable<RolesTable> & { row_version: string }

const audit = auditorOf<RoleRow>('role', ['name', 'permissions'])

export async function createRole(trx: Transaction, request: Creation<RoleBody>) {
  const { parentId: organizationId, caller } = request
  const { name, permissions } = request.body
  if (!(await lockMembers(trx, organizationId))) return GONE
  const columns = { name, permissions: permissions.toSorted() }
  const problem = await checkRole(trx, caller, organizationId, columns)
  if (problem) return problem
  const id = await insertRow(trx, 'roles', { organization_id: organizationId, ...columns })
  return audit.saved(trx, request, organizationId, null, await findRole(trx, id))
}

/** Applies immediately to everyone who holds it: callers cannot use it to grant or revoke what they do not hold. */
export async function changeRole(trx: Transaction, request: Change<RoleChange>) {
  const { id, body, caller, ifMatch } = request
  const before = await lockRole(trx, id)
  if (!before) return GONE
  if (isOutdated(ifMatch, before.row_version)) return CHANGED_MEANWHILE
  const { name = before.name, permissions = before.permissions } = body
  const columns = { name, permissions: permissions.toSorted() }
  if (isDeepStrictEqual({ ...before, ...columns }, before)) return { kind: 'done' as const, row: before }
  const problem = await checkRole(trx, caller, before.organization_id, columns, before)
  if (problem) return problem
  await updateRow(trx, 'roles', id, columns)
  return audit.saved(trx, request, before.organization_id, before, await findRole(trx, id))
}

export async function removeRole(trx: Transaction, request: Removal) {
  const { id, ifMatch } = request
  const row = await lockRole(trx, id)
  if (!row) return GONE
  if (isOutdated(ifMatch, row.row_version)) return CHANGED_MEANWHILE
  const problem = await checkUnused(trx, id)
  if (problem) return problem
  await trx.deleteFrom('roles').where('id', '=', id).execute()
  return audit.removed(trx, request, row.organization_id, row)
}

export function listRoles(db: Database, organizationId: number, name: string | undefined, page: Page) {
  return readPage(selectRoles(db).where('organization_id', '=', organizationId), 'roles', page, name)
}

export function findRole(db: Database, id: number): Promise<RoleRow | undefined> {
  return selectRoles(db).where('id', '=', id).executeTakeFirst()
}

function selectRoles(db: Database) {
  return db.selectFrom('roles').selectAll().select(rowVersion('roles'))
}

async function lockRole(trx: Transaction, id: number): Promise<RoleRow | undefined> {
  const seen = await findRole(trx, id)
  if (!seen || !(await lockMembers(trx, seen.organization_id))) return undefined
  return findRole(trx, id)
}

async function checkUnused(trx: Transaction, roleId: number): Promise<HttpProblem | undefined> {
  const { rows } = await sql<{ members: number; invitations: number }>`
    select (select count(distinct user_id) from grants where role_id = ${roleId}) as members,
      (select count(*) from invitation_grants where role_id = ${roleId}) as invitations`.execute(trx)
  const { members, invitations } = rows[0]!
  const holders = members === 1 ? '1 member has it' : `${members} members have it`
  const offers = invitations === 1 ? '1 invitation offers it' : `${invitations} invitations offer it`
  const errors = { ...(members && { members: [holders] }), ...(invitations && { invitations: [offers] }) }
  const reasons = Object.values(errors).flat()
  return reasons.length === 0 ? undefined : conflict(`The role is in use: ${reasons.join(', ')}.`, errors)
}

async function checkRole(
  trx: Transaction,
  caller: Pick<Caller, 'id'>,
  organization_id: number,
  { name, permissions }: { name: string; permissions: readonly string[] },
  stored: Pick<RoleRow, 'id' | 'permissions'> = { id: 0, permissions: [] },
): Promise<HttpProblem | undefined> {
  const everywhere = { organization_id, permissions: new Set([...stored.permissions, ...permissions]) }
  const problem = checkAuthority(await loadGrants(trx, caller.id, organization_id), [everywhere])
  if (problem) return problem
  if ((BUILT_IN_ROLES as readonly string[]).includes(name.trim().toLowerCase()))
    return invalidAt('name', 'is the name of a built-in role')
  const other = await trx
    .selectFrom('roles')
    .select('id')
    .where('organization_id', '=', organization_id)
    .where('name', '=', name)
    .where('id', '<>', stored.id)
    .executeTakeFirst()
  return other && invalidAt('name', 'is already taken by another role')
}
