import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import { loadUsers } from '#access/accounts/load-users.ts'
import { type Actor, type Change, type Removal, recordAudit } from '#access/audit/record.ts'
import { anyOf, byId } from '#platform/database/any-of.ts'
import type { Database, Transaction } from '#platform/database/connect.ts'
import { findRow, NOW } from '#platform/database/rows.ts'
import { isOutdated } from '#platform/http/if-match.ts'
import type { Extent, Page } from '#platform/http/pagination.ts'
import { CHANGED_MEANWHILE, conflict, GONE, type HttpProblem, REMOVED } from '#platform/http/problems.ts'
import {
  checkAuthority,
  describeGrants,
  type HeldGrant,
  isOwner,
  isSameGrant,
  loadGrants,
  lockMembers,
  type NewGrant,
  presentRole,
  resolveGrants,
  selectGrants,
} from './grants.ts'
import type { Grant, Member, MemberChange } from './schemas.ts'

/** `row_version` changes with every change of the member's grants. */
export type MemberRow = Member & { row_version: string }

/** Of an organization, the newest first. `name` filters by a part of the name or email, ignoring case. */
export async function listMembers(
  db: Database,
  organizationId: number,
  name: string | undefined,
  page: Page,
): Promise<{ rows: MemberRow[]; extent: Extent }> {
  const isNamed =
    name === undefined
      ? sql`true`
      : sql`position(lower(${name}) in lower(u.name)) > 0 or position(lower(${name}) in lower(u.email)) > 0`
  const { rows } = await sql<{ user_id: number }>`
    select g.user_id from grants g join users u on u.id = g.user_id
    where g.organization_id = ${organizationId} and (${isNamed})
    group by g.user_id order by min(g.id) desc`.execute(db)
  const ids = rows.map((row) => row.user_id)
  const shown = ids.slice(page.offset, page.offset + page.limit)
  const hasMore = page.offset + shown.length < ids.length && shown.length > 0
  return { rows: await loadMembers(db, organizationId, shown), extent: { total: ids.length, hasMore } }
}

export async function findMember(db: Database, organizationId: number, userId: number) {
  return (await loadMembers(db, organizationId, [userId]))[0]
}

export function versionOf(grants: readonly { id: number }[]): string {
  const ids = grants.map(({ id }) => id).sort((one, other) => one - other)
  return createHash('sha256').update(ids.join()).digest('hex').slice(0, 16)
}

/** In the order of the ids, without those who are not members. */
async function loadMembers(db: Database, organizationId: number, userIds: readonly number[]) {
  const users = byId(await loadUsers(db, userIds))
  const grants = Map.groupBy(await selectGrants(db, organizationId, userIds), ({ user_id }) => user_id)
  return userIds.flatMap((user_id): MemberRow[] => {
    const user = users.get(user_id)
    const held = (grants.get(user_id) ?? []).map(presentGrant)
    if (!user || held.length === 0) return []
    return [{ user_id, user, grants: held, ...HAS_JOINED, row_version: versionOf(held) }]
  })
}

/** Deprecated: invitations are listed by themselves. */
const HAS_JOINED = { has_joined: true, invitation_expires_at: null, invitation_url: null }

function presentGrant(row: Awaited<ReturnType<typeof selectGrants>>[number]): Grant {
  const { id, source, created_at } = row
  return { id, ...presentRole(row), source, created_at }
}

/** Replaces the grants of a member; the caller must hold what they revoke as well as what they grant. */
export async function changeMember(trx: Transaction, request: Change<MemberChange>) {
  const { parentId: organizationId, id: userId, body, caller, actor, ifMatch } = request
  const member = await lockMember(trx, organizationId, userId)
  if (!member) return GONE
  const { held } = member
  if (isOutdated(ifMatch, versionOf(held))) return CHANGED_MEANWHILE
  const authority = await loadGrants(trx, caller.id, organizationId)
  const path = (index: number) => `grants.${index}.`
  const resolved = await resolveGrants(trx, authority, organizationId, body.grants, path)
  if (resolved.kind !== 'resolved') return resolved
  const { grants } = resolved

  const removed = held.filter((one) => !grants.some((other) => isSameGrant(one, other)))
  const added = grants.filter((one) => !held.some((other) => isSameGrant(one, other)))
  if (removed.length > 0 || added.length > 0) {
    const problem =
      checkAuthority(authority, [...removed, ...added]) ??
      (await checkLastOwner(trx, organizationId, userId, removed))
    if (problem) return problem
    await storeGrants(trx, actor, member, 'changed', { held, removed, added, after: grants })
    await passOwnership(trx, organizationId)
  }
  return { kind: 'done' as const, row: (await findMember(trx, organizationId, userId))! }
}

/** Revokes everything. */
export async function removeMember(trx: Transaction, request: Removal) {
  const { parentId: organizationId, id: userId, caller, actor, ifMatch } = request
  const member = await lockMember(trx, organizationId, userId)
  if (!member) return GONE
  const { held } = member
  if (isOutdated(ifMatch, versionOf(held))) return CHANGED_MEANWHILE
  const problem =
    checkAuthority(await loadGrants(trx, caller.id, organizationId), held) ??
    (await checkLastOwner(trx, organizationId, userId, held))
  if (problem) return problem

  await storeGrants(trx, actor, member, 'removed', { held, removed: held, added: [], after: [] })
  await passOwnership(trx, organizationId)
  return REMOVED
}

async function lockMember(trx: Transaction, organizationId: number, userId: number) {
  if (!(await lockMembers(trx, organizationId))) return undefined
  const account = await findRow(trx, 'users', { id: userId }, ['email'], 'for no key update')
  const held = await loadGrants(trx, userId, organizationId)
  return account && held.length > 0 ? { organizationId, userId, email: account.email, held } : undefined
}

type GrantChange = {
  held: readonly HeldGrant[]
  removed: readonly HeldGrant[]
  added: readonly NewGrant[]
  after: readonly NewGrant[]
  /** Groups of the identity provider, unless a person. */
  source?: 'oidc'
}

/** Changes what a member holds, with the audit entry. */
export async function storeGrants(
  trx: Transaction,
  actor: Actor,
  { organizationId, userId, email }: { organizationId: number; userId: number; email: string },
  verb: string,
  { held, removed, added, after, source }: GrantChange,
): Promise<void> {
  const before = await describeGrants(trx, held)
  const ids = removed.map(({ id }) => id)
  if (ids.length > 0) await trx.deleteFrom('grants').where(anyOf('id', ids)).execute()
  const rows = added.map(({ permissions, ...grant }) => ({ ...grant, user_id: userId, source }))
  if (rows.length > 0) await trx.insertInto('grants').values(rows).execute()
  const grants = await describeGrants(trx, after)
  await recordAudit(trx, actor, {
    organizationId,
    verb,
    subject: { type: 'member', id: userId, name: email },
    before: held.length === 0 ? null : { grants: before },
    after: after.length === 0 ? null : { grants, ...(source && { mapped_from: source }) },
  })
}

/** The owners of the whole organization who can act. The one who has been owner longest is first. */
async function loadOwners(trx: Transaction, organizationId: number): Promise<number[]> {
  const rows = await trx
    .selectFrom('grants')
    .innerJoin('users', 'users.id', 'grants.user_id')
    .select('grants.user_id')
    .where('grants.organization_id', '=', organizationId)
    .where('grants.built_in_role', '=', 'owner')
    .where('grants.project_id', 'is', null)
    .where('users.active', '=', true)
    .orderBy('grants.id')
    .execute()
  return rows.map((row) => row.user_id)
}

export async function checkLastOwner(
  trx: Transaction,
  organizationId: number,
  userId: number,
  removed: readonly HeldGrant[],
): Promise<HttpProblem | undefined> {
  if (!removed.some(isOwner)) return undefined
  const others = (await loadOwners(trx, organizationId)).filter((id) => id !== userId)
  return others.length > 0
    ? undefined
    : conflict('An organization needs an owner. Make another member an owner first.')
}

/** The organization's `owner_id` always names one of its owners; the longest-standing one takes over. */
export async function passOwnership(trx: Transaction, organizationId: number): Promise<void> {
  const ids = await loadOwners(trx, organizationId)
  if (ids.length === 0) return
  await trx
    .updateTable('organizations')
    .set({ owner_id: ids[0]!, updated_at: NOW })
    .where('id', '=', organizationId)
    .where('owner_id', 'not in', ids)
    .execute()
}
