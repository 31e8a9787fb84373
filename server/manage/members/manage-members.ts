import { sql } from 'kysely'
import { type Requester, recordAudit } from '#access/audit/record.ts'
import { anyOf } from '#platform/database/any-of.ts'
import type { Transaction } from '#platform/database/connect.ts'
import { NOW } from '#platform/database/rows.ts'
import { isOutdated } from '#platform/http/if-match.ts'
import { CHANGED_MEANWHILE, conflict, GONE, type HttpProblem, REMOVED } from '#platform/http/problems.ts'
import { insertWithSlug } from '#platform/slug.ts'
import {
  checkAuthority,
  describeGrants,
  type HeldGrant,
  isOwner,
  isSameGrant,
  loadGrants,
  lockMembers,
  type NewGrant,
  resolveGrants,
} from './grants.ts'
import { expireLinksOfOthers, invite, pendingIn } from './invitations.ts'
import { findMember, versionOf } from './read-members.ts'
import type { MemberBody, MemberChange } from './schemas.ts'

/**
 * Gives a person a role. An existing account only gets the role; otherwise an account without a password is created,
 * with a link to set one.
 */
export async function addMember(trx: Transaction, by: Requester, organizationId: number, input: MemberBody) {
  if (!(await lockMembers(trx, organizationId))) return GONE
  const authority = await loadGrants(trx, by.caller.id, organizationId)
  const resolved = await resolveGrants(trx, authority, organizationId, [input])
  if (resolved.kind !== 'resolved') return resolved
  const { grants } = resolved

  const account = await findAccount(trx, input.email)
  const invitedBy = account && (await pendingIn(trx, account.id))
  const isPending = invitedBy !== undefined
  const held = account ? await loadGrants(trx, account.id, organizationId) : []
  // The holder of a link gets everything that the account was granted before.
  const problem = checkAuthority(authority, isPending ? [...grants, ...held] : grants)
  if (problem) return problem
  if (isPending && invitedBy !== organizationId)
    return conflict(
      'This person has a pending invitation to another organization, which they must accept first.',
    )
  const isHeld = held.some((one) => grants.some((grant) => isSameGrant(one, grant)))
  if (isHeld && !isPending) return conflict('This person already has that role there.')

  const { id: userId, email } = account ?? (await createAccount(trx, input))
  if (!isHeld) await insertGrants(trx, userId, grants)
  const needsLink = !account || isPending
  const link = needsLink ? await invite(trx, { userId, organizationId, invitedBy: by.caller.id }) : undefined
  await recordAudit(trx, by.actor, {
    organizationId,
    verb: held.length === 0 ? 'created' : 'changed',
    subject: { type: 'member', id: userId, name: email },
    before: held.length === 0 ? null : { grants: await describeGrants(trx, held) },
    after: {
      grants: await describeGrants(trx, isHeld ? held : [...held, ...grants]),
      ...(needsLink && { invited: true }),
    },
  })
  return { kind: 'done' as const, row: (await findMember(trx, organizationId, userId))!, link }
}

/** Creates a new link for a member who has not joined yet; earlier links stop working. */
export async function inviteAgain(trx: Transaction, by: Requester, organizationId: number, userId: number) {
  const member = await lockMember(trx, organizationId, userId)
  if (!member) return GONE
  const problem = checkAuthority(await loadGrants(trx, by.caller.id, organizationId), member.held)
  if (problem) return problem
  if ((await pendingIn(trx, userId)) !== organizationId)
    return conflict('This person already uses their account: no invitation is needed.')
  const link = await invite(trx, { userId, organizationId, invitedBy: by.caller.id })
  const subject = { type: 'member', id: userId, name: member.email }
  await recordAudit(trx, by.actor, { organizationId, verb: 'invited', subject, before: null, after: null })
  return { kind: 'done' as const, row: (await findMember(trx, organizationId, userId))!, link }
}

/** Replaces the grants of a member; the caller must hold what they revoke as well as what they grant. */
export async function changeMember(
  trx: Transaction,
  by: Requester,
  organizationId: number,
  userId: number,
  input: MemberChange,
  ifMatch?: string,
) {
  const member = await lockMember(trx, organizationId, userId)
  if (!member) return GONE
  const { held, email } = member
  if (isOutdated(ifMatch, versionOf(held))) return CHANGED_MEANWHILE
  const authority = await loadGrants(trx, by.caller.id, organizationId)
  const path = (index: number) => `grants.${index}.`
  const resolved = await resolveGrants(trx, authority, organizationId, input.grants, path)
  if (resolved.kind !== 'resolved') return resolved
  const { grants } = resolved

  const removed = held.filter((one) => !grants.some((other) => isSameGrant(one, other)))
  const added = grants.filter((one) => !held.some((other) => isSameGrant(one, other)))
  if (removed.length > 0 || added.length > 0) {
    const problem =
      checkAuthority(authority, [...removed, ...added]) ??
      (await checkLastOwner(trx, organizationId, userId, removed))
    if (problem) return problem
    const before = { grants: await describeGrants(trx, held) }
    await deleteGrants(trx, removed)
    await insertGrants(trx, userId, added)
    await expireLinksOfOthers(trx, [userId], by.caller.id)
    await passOwnership(trx, organizationId)
    const subject = { type: 'member', id: userId, name: email }
    const after = { grants: await describeGrants(trx, grants) }
    await recordAudit(trx, by.actor, { organizationId, verb: 'changed', subject, before, after })
  }
  return { kind: 'done' as const, row: (await findMember(trx, organizationId, userId))! }
}

/** Revokes everything. An account that was never used is deleted: nobody could log in to it any more. */
export async function removeMember(
  trx: Transaction,
  by: Requester,
  organizationId: number,
  userId: number,
  ifMatch?: string,
) {
  const member = await lockMember(trx, organizationId, userId)
  if (!member) return GONE
  const { held, email } = member
  if (isOutdated(ifMatch, versionOf(held))) return CHANGED_MEANWHILE
  const problem =
    checkAuthority(await loadGrants(trx, by.caller.id, organizationId), held) ??
    (await checkLastOwner(trx, organizationId, userId, held))
  if (problem) return problem

  const before = { grants: await describeGrants(trx, held) }
  await deleteGrants(trx, held)
  await passOwnership(trx, organizationId)
  if ((await pendingIn(trx, userId)) === organizationId)
    await trx.deleteFrom('users').where('id', '=', userId).execute()
  const subject = { type: 'member', id: userId, name: email }
  await recordAudit(trx, by.actor, { organizationId, verb: 'removed', subject, before, after: null })
  return REMOVED
}

async function lockMember(
  trx: Transaction,
  organizationId: number,
  userId: number,
): Promise<{ held: HeldGrant[]; email: string } | undefined> {
  if (!(await lockMembers(trx, organizationId))) return undefined
  const account = await trx
    .selectFrom('users')
    .select('email')
    .where('id', '=', userId)
    .forNoKeyUpdate()
    .executeTakeFirst()
  const held = await loadGrants(trx, userId, organizationId)
  return account && held.length > 0 ? { held, email: account.email } : undefined
}

type Account = { id: number; email: string }

/**
 * One at a time for each address: two organizations may add the same new person at once. Locked: an invitation is not
 * accepted while the account is granted more.
 */
async function findAccount(trx: Transaction, email: string): Promise<Account | undefined> {
  const address = email.toLowerCase()
  await sql`select pg_advisory_xact_lock(hashtextextended('account ' || ${address}::text, 0))`.execute(trx)
  return trx
    .selectFrom('users')
    .select(['id', 'email'])
    .where(sql`lower(email)`, '=', address)
    .forNoKeyUpdate()
    .executeTakeFirst()
}

async function createAccount(
  trx: Transaction,
  { email, name = email.split('@')[0]! }: MemberBody,
): Promise<Account> {
  return insertWithSlug(name, (url_slug) =>
    trx
      .insertInto('users')
      .values({ name, email, url_slug })
      .onConflict((conflict) => conflict.column('url_slug').doNothing())
      .returning(['id', 'email'])
      .executeTakeFirst(),
  )
}

async function insertGrants(trx: Transaction, userId: number, grants: readonly NewGrant[]) {
  if (grants.length === 0) return
  const rows = grants.map(({ permissions, ...grant }) => ({ ...grant, user_id: userId }))
  await trx.insertInto('grants').values(rows).execute()
}

async function deleteGrants(trx: Transaction, grants: readonly HeldGrant[]) {
  const ids = grants.map(({ id }) => id)
  await trx.deleteFrom('grants').where(anyOf('id', ids)).execute()
}

/** The owners of the whole organization who can act: accounts in use. The one who has been owner longest is first. */
async function loadOwners(trx: Transaction, organizationId: number): Promise<number[]> {
  const rows = await trx
    .selectFrom('grants')
    .innerJoin('users', 'users.id', 'grants.user_id')
    .select('grants.user_id')
    .where('grants.organization_id', '=', organizationId)
    .where('grants.built_in_role', '=', 'owner')
    .where('grants.project_id', 'is', null)
    .where('users.active', '=', true)
    .where(({ not, exists, selectFrom }) =>
      not(exists(selectFrom('invitations').select('id').whereRef('invitations.user_id', '=', 'users.id'))),
    )
    .orderBy('grants.id')
    .execute()
  return rows.map((row) => row.user_id)
}

async function checkLastOwner(
  trx: Transaction,
  organizationId: number,
  userId: number,
  removed: readonly HeldGrant[],
): Promise<HttpProblem | undefined> {
  if (!removed.some(isOwner)) return undefined
  const others = (await loadOwners(trx, organizationId)).filter((id) => id !== userId)
  return others.length > 0
    ? undefined
    : conflict('An organization needs an owner: make somebody else an owner first.')
}

/** The organization's `owner_id` always names one of its owners; the longest-standing one takes over. */
async function passOwnership(trx: Transaction, organizationId: number): Promise<void> {
  const ids = await loadOwners(trx, organizationId)
  if (ids.length === 0) return
  await trx
    .updateTable('organizations')
    .set({ owner_id: ids[0]!, updated_at: NOW })
    .where('id', '=', organizationId)
    .where('owner_id', 'not in', ids)
    .execute()
}
