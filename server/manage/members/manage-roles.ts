import { isDeepStrictEqual } from 'node:util'
import { type Selectable, sql, type Transaction } from 'kysely'
import { recordAudit } from '#access/audit/record.ts'
import type { Caller } from '#access/authorization/caller.ts'
import { BUILT_IN_ROLES } from '#access/authorization/permissions.ts'
import type { Database } from '#platform/database/connect.ts'
import type { RolesTable, Tables } from '#platform/database/tables.ts'
import { isOutdated } from '#platform/http/if-match.ts'
import type { Extent, Page } from '#platform/http/pagination.ts'
import { readPage } from '#platform/http/read-page.ts'
import type { MemberDeps } from './add-member.ts'
import { holdMembers, lackingFor, loadHeld } from './authority.ts'
import type { Refusal, RemovalOutcome, RoleOutcome } from './outcomes.ts'
import type { RoleBody, RoleChange } from './schemas.ts'

export async function createRole(
  trx: Transaction<Tables>,
  { actor }: MemberDeps,
  caller: Pick<Caller, 'id'>,
  organizationId: number,
  { name, permissions }: RoleBody,
): Promise<RoleOutcome> {
  if (!(await holdMembers(trx, organizationId))) return { kind: 'gone' }
  const after = { name, permissions: permissions.toSorted() }
  const refusal = await refusalOf(trx, caller, organizationId, after)
  if (refusal) return refusal
  const { id } = await trx
    .insertInto('roles')
    .values({ organization_id: organizationId, ...after })
    .returning('id')
    .executeTakeFirstOrThrow()
  const subject = { type: 'role', id, name }
  await recordAudit(trx, actor, { organizationId, verb: 'created', subject, before: null, after })
  return done(trx, id)
}

/** Counts at once for everybody who holds it: nobody gives or takes by it what they lack themselves. */
export async function changeRole(
  trx: Transaction<Tables>,
  { actor }: MemberDeps,
  caller: Pick<Caller, 'id'>,
  id: number,
  wish: RoleChange,
  ifMatch?: string,
): Promise<RoleOutcome> {
  const row = await holdRole(trx, id)
  if (!row) return { kind: 'gone' }
  if (isOutdated(ifMatch, row.row_version)) return { kind: 'changed-meanwhile' }
  const { organization_id: organizationId } = row
  const before = { name: row.name, permissions: row.permissions }
  const after = { ...before, ...wish, permissions: (wish.permissions ?? row.permissions).toSorted() }
  if (isDeepStrictEqual(before, after)) return { kind: 'done', row }
  const refusal = await refusalOf(trx, caller, organizationId, after, row)
  if (refusal) return refusal
  await trx
    .updateTable('roles')
    .set({ ...after, updated_at: sql<string>`now()` })
    .where('id', '=', id)
    .execute()
  await voidLinksOfHolders(trx, id, caller.id)
  const subject = { type: 'role', id, name: after.name }
  await recordAudit(trx, actor, { organizationId, verb: 'changed', subject, before, after })
  return done(trx, id)
}

export async function removeRole(
  trx: Transaction<Tables>,
  { actor }: MemberDeps,
  id: number,
  ifMatch?: string,
): Promise<RemovalOutcome> {
  const row = await holdRole(trx, id)
  if (!row) return { kind: 'gone' }
  if (isOutdated(ifMatch, row.row_version)) return { kind: 'changed-meanwhile' }
  const { members } = await trx
    .selectFrom('grants')
    .select(({ fn }) => fn.count<number>('user_id').distinct().as('members'))
    .where('role_id', '=', id)
    .executeTakeFirstOrThrow()
  if (members > 0) return { kind: 'in-use', members }
  await trx.deleteFrom('roles').where('id', '=', id).execute()
  const { name, permissions, organization_id: organizationId } = row
  const subject = { type: 'role', id, name }
  const before = { name, permissions }
  await recordAudit(trx, actor, { organizationId, verb: 'removed', subject, before, after: null })
  return { kind: 'removed' }
}

export async function listRoles(
  db: Database,
  organizationId: number,
  name: string | undefined,
  page: Page,
): Promise<{ rows: RoleRow[]; extent: Extent }> {
  return readPage(selectRoles(db).where('organization_id', '=', organizationId), 'roles', page, name)
}

export type RoleRow = Selectable<RolesTable> & { row_version: string }

export function findRole(db: Database, id: number): Promise<RoleRow | undefined> {
  return selectRoles(db).where('id', '=', id).executeTakeFirst()
}

function selectRoles(db: Database) {
  return db
    .selectFrom('roles')
    .selectAll()
    .select((eb) => eb.ref('roles.xmin' as 'roles.id').as('row_version'))
    .$castTo<RoleRow>()
}

async function holdRole(trx: Transaction<Tables>, id: number): Promise<RoleRow | undefined> {
  const seen = await findRole(trx, id)
  if (!seen || !(await holdMembers(trx, seen.organization_id))) return undefined
  return findRole(trx, id)
}

async function refusalOf(
  trx: Transaction<Tables>,
  caller: Pick<Caller, 'id'>,
  organizationId: number,
  role: { name: string; permissions: readonly string[] },
  stored: Pick<RoleRow, 'id' | 'permissions'> = { id: 0, permissions: [] },
): Promise<Refusal | undefined> {
  const permissions = new Set([...stored.permissions, ...role.permissions])
  const everywhere = { organization_id: organizationId, permissions }
  const lacking = lackingFor(await loadHeld(trx, caller.id, organizationId), [everywhere])
  if (lacking.length > 0) return { kind: 'lacking', permissions: lacking }
  if ((BUILT_IN_ROLES as readonly string[]).includes(role.name.trim().toLowerCase()))
    return { kind: 'invalid', errors: { name: ['is the name of a built-in role'] } }
  const other = await trx
    .selectFrom('roles')
    .select('id')
    .where('organization_id', '=', organizationId)
    .where('name', '=', role.name)
    .where('id', '<>', stored.id)
    .executeTakeFirst()
  return other ? { kind: 'name-taken' } : undefined
}

/** As voidLinksOfOthers, for everybody who has been given the role and has not come yet. */
async function voidLinksOfHolders(trx: Transaction<Tables>, roleId: number, callerId: number): Promise<void> {
  await trx
    .updateTable('invitations')
    .set({ expires_at: sql<string>`now()` })
    .where('invited_by', '<>', callerId)
    .where('user_id', 'in', (eb) => eb.selectFrom('grants').select('user_id').where('role_id', '=', roleId))
    .execute()
}

async function done(trx: Transaction<Tables>, id: number): Promise<RoleOutcome> {
  return { kind: 'done', row: (await findRole(trx, id))! }
}
