import { sql } from 'kysely'
import { loadUsers } from '#access/accounts/load-users.ts'
import { type Creation, type Removal, type Requester, recordAudit } from '#access/audit/record.ts'
import { ROLE_PERMISSIONS } from '#access/authorization/permissions.ts'
import { hashToken, newUrlToken } from '#platform/crypto/tokens.ts'
import { anyOf, byId } from '#platform/database/any-of.ts'
import type { Database, Transaction } from '#platform/database/connect.ts'
import { NOW, rowVersion } from '#platform/database/rows.ts'
import { isOutdated } from '#platform/http/if-match.ts'
import type { Extent, Page } from '#platform/http/pagination.ts'
import { CHANGED_MEANWHILE, conflict, GONE, invalidAt, REMOVED } from '#platform/http/problems.ts'
import { readPage } from '#platform/http/read-page.ts'
import {
  checkAuthority,
  describeGrants,
  loadGrants,
  lockMembers,
  type NewGrant,
  presentRole,
  resolveGrants,
} from './grants.ts'
import type { Invitation, InvitationBody } from './schemas.ts'

// An invitation is an address and what it will be granted. No account exists because of it. To accept it takes
// the link and, where the address has an account, a session of that account. It expires, but stays listed until
// somebody removes or replaces it.

export type InvitationRow = Omit<Invitation, 'url'> & { row_version: string; is_expired: boolean }

/** Of an organization, the newest first. `name` filters by a part of the name or email, ignoring case. */
export async function listInvitations(
  db: Database,
  organizationId: number,
  name: string | undefined,
  page: Page,
): Promise<{ rows: InvitationRow[]; extent: Extent }> {
  let query = selectInvitations(db).where('organization_id', '=', organizationId)
  if (name !== undefined)
    query = query.where(sql<boolean>`strpos(lower(concat(name, ' ', email)), lower(${name}::text)) > 0`)
  const { rows, extent } = await readPage(query, 'invitations', page)
  return { rows: await completeRows(db, rows), extent }
}

export async function findInvitation(
  db: Database,
  organizationId: number,
  by: { id: number } | { email: string },
): Promise<InvitationRow | undefined> {
  const query = selectInvitations(db).where('organization_id', '=', organizationId)
  const row = await ('id' in by
    ? query.where('id', '=', by.id)
    : query.where(sql`lower(email)`, '=', by.email.toLowerCase())
  ).executeTakeFirst()
  return row && (await completeRows(db, [row]))[0]
}

/** What an invitation offers, with the permissions that this means at this moment. */
export async function loadOffer(db: Database, invitationId: number): Promise<NewGrant[]> {
  const rows = await selectOffers(db, [invitationId])
  return rows.map(({ id, invitation_id, role_name, permissions, ...grant }) => ({
    ...grant,
    permissions: grant.built_in_role ? ROLE_PERMISSIONS[grant.built_in_role] : new Set(permissions),
  }))
}

/** The response to every link that does not work. */
export const NOT_VALID = invalidAt('token', 'is unknown, used or expired: ask for a new invitation')

export type ValidInvitation = NonNullable<Awaited<ReturnType<typeof findByLink>>>

/**
 * The invitation that a link leads to: not expired, and from somebody who is active and could still grant all of it.
 * With it, the account of its address.
 */
export async function findByLink(db: Database, linkHash: Buffer) {
  const row = await db
    .selectFrom('invitations')
    .innerJoin('organizations', 'organizations.id', 'invitations.organization_id')
    .innerJoin('users as inviter', 'inviter.id', 'invitations.invited_by')
    .select(['invitations.id', 'invitations.organization_id', 'invitations.email', 'invitations.name'])
    .select(['invitations.invited_by', 'invitations.expires_at', 'organizations.name as organization_name'])
    .where('invitations.hash', '=', linkHash)
    .where('invitations.expires_at', '>', NOW)
    .where('organizations.deleted_at', 'is', null)
    .where('inviter.active', '=', true)
    .executeTakeFirst()
  if (!row) return undefined
  const offer = await loadOffer(db, row.id)
  const authority = await loadGrants(db, row.invited_by, row.organization_id)
  if (offer.length === 0 || checkAuthority(authority, offer)) return undefined
  const account = await findAccount(db, row.email)
  // A deactivated account has no way in, not even this one.
  return account && !account.active ? undefined : { ...row, offer, account }
}

/** By its address, compared as logins do. */
export function findAccount(db: Database, email: string) {
  return db
    .selectFrom('users')
    .select(['id', 'email', 'active'])
    .where(sql`lower(email)`, '=', email.toLowerCase())
    .executeTakeFirst()
}

function selectInvitations(db: Database) {
  return db
    .selectFrom('invitations')
    .select(['id', 'organization_id', 'email', 'name', 'invited_by', 'created_at', 'expires_at'])
    .select([sql<boolean>`expires_at <= now()`.as('is_expired'), rowVersion('invitations')])
}

type StoredRow = Awaited<ReturnType<ReturnType<typeof selectInvitations>['executeTakeFirstOrThrow']>>

/** Oldest first. */
function selectOffers(db: Database, invitationIds: readonly number[]) {
  return db
    .selectFrom('invitation_grants')
    .leftJoin('roles', 'roles.id', 'invitation_grants.role_id')
    .selectAll('invitation_grants')
    .select(['roles.name as role_name', 'roles.permissions'])
    .where(anyOf('invitation_id', invitationIds))
    .orderBy('invitation_grants.id')
    .execute()
}

async function completeRows(db: Database, rows: readonly StoredRow[]): Promise<InvitationRow[]> {
  const ids = rows.map(({ id }) => id)
  const offers = Map.groupBy(await selectOffers(db, ids), ({ invitation_id }) => invitation_id)
  const inviters = byId(await loadUsers(db, [...new Set(rows.map(({ invited_by }) => invited_by))]))
  return rows.map(({ invited_by, ...row }) => ({
    ...row,
    grants: (offers.get(row.id) ?? []).map(presentRole),
    created_by_user: inviters.get(invited_by)!,
  }))
}

const LIFE = sql<string>`now() + interval '7 days'`

/**
 * Invites an address, in place of an earlier invitation of it. Whether the address has an account, or invitations to
 * other organizations, changes neither the outcome nor the work done.
 */
export async function createInvitation(trx: Transaction, request: Creation<InvitationBody>) {
  const { parentId: organizationId, body: input, caller, actor } = request
  if (!(await lockMembers(trx, organizationId))) return GONE
  const authority = await loadGrants(trx, caller.id, organizationId)
  const resolved = await resolveGrants(trx, authority, organizationId, [input])
  if (resolved.kind !== 'resolved') return resolved
  const { grants } = resolved
  const earlier = await findInvitation(trx, organizationId, { email: input.email })
  const replaced = earlier && !earlier.is_expired ? await loadOffer(trx, earlier.id) : []
  const problem = checkAuthority(authority, [...grants, ...replaced])
  if (problem) return problem
  if (await isMember(trx, organizationId, input.email))
    return conflict('This person is already a member. To give them another role, change the member.')

  if (earlier) await deleteInvitation(trx, request, earlier)
  const token = `gty_in_${newUrlToken()}`
  const { id } = await trx
    .insertInto('invitations')
    .values({
      organization_id: organizationId,
      email: input.email,
      name: input.name ?? null,
      invited_by: caller.id,
      hash: hashToken(token),
      expires_at: LIFE,
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  const offered = grants.map(({ permissions, ...grant }) => ({ ...grant, invitation_id: id }))
  await trx.insertInto('invitation_grants').values(offered).execute()
  await recordAudit(trx, actor, {
    organizationId,
    verb: 'created',
    subject: { type: 'invitation', id, name: input.email },
    before: null,
    after: { grants: await describeGrants(trx, grants) },
  })
  return { kind: 'done' as const, row: (await findInvitation(trx, organizationId, { id }))!, token }
}

/** The link stops working. The caller must hold what it offers. */
export async function removeInvitation(trx: Transaction, request: Removal) {
  const { parentId: organizationId, id, caller, ifMatch } = request
  if (!(await lockMembers(trx, organizationId))) return GONE
  const row = await findInvitation(trx, organizationId, { id })
  if (!row) return GONE
  if (isOutdated(ifMatch, row.row_version)) return CHANGED_MEANWHILE
  const offer = row.is_expired ? [] : await loadOffer(trx, id)
  const problem = checkAuthority(await loadGrants(trx, caller.id, organizationId), offer)
  if (problem) return problem
  await deleteInvitation(trx, request, row)
  return REMOVED
}

async function deleteInvitation(trx: Transaction, { actor }: Requester, row: InvitationRow): Promise<void> {
  const { id, organization_id: organizationId, email: name } = row
  const before = { grants: await describeGrants(trx, await loadOffer(trx, id)) }
  await trx.deleteFrom('invitations').where('id', '=', id).execute()
  const subject = { type: 'invitation', id, name }
  await recordAudit(trx, actor, { organizationId, verb: 'removed', subject, before, after: null })
}

async function isMember(trx: Transaction, organizationId: number, email: string): Promise<boolean> {
  const found = await trx
    .selectFrom('grants')
    .innerJoin('users', 'users.id', 'grants.user_id')
    .select('grants.id')
    .where('grants.organization_id', '=', organizationId)
    .where(sql`lower(users.email)`, '=', email.toLowerCase())
    .executeTakeFirst()
  return found !== undefined
}
