import { sql } from 'kysely'
import type { TokenLifetimes } from '#access/accounts/sessions.ts'
import { type SignInClient, type StartedSession, startSession } from '#access/accounts/start-session.ts'
import type { Actor } from '#access/audit/record.ts'
import type { Caller } from '#access/authorization/caller.ts'
import { lockEnvironmentScope, lockProject } from '#model/inventory/lock-scope.ts'
import { hashPassword } from '#platform/crypto/passwords.ts'
import { hashToken } from '#platform/crypto/tokens.ts'
import type { Database, Transaction } from '#platform/database/connect.ts'
import { FieldErrors, type HttpProblem } from '#platform/http/problems.ts'
import { insertWithSlug } from '#platform/slug.ts'
import { isSameGrant, loadGrants, lockMembers, type NewGrant } from './grants.ts'
import { findByLink, NOT_VALID, type ValidInvitation } from './manage-invitations.ts'
import { storeGrants } from './manage-members.ts'
import type { AcceptInvitationBody, ShownInvitation } from './schemas.ts'

/** What the holder of a link is invited to. */
export async function readInvitation(db: Database, token: string) {
  const found = await findByLink(db, hashToken(token))
  if (!found) return NOT_VALID
  const { organization_name, email, name, expires_at } = found
  const grants = await nameOffer(db, found.id)
  const account = found.account ? 'existing' : 'new'
  const invitation: ShownInvitation = { organization_name, email, name, grants, account, expires_at }
  return { kind: 'shown' as const, invitation }
}

/** Signs in somebody new; the holder of an existing account is signed in already. */
export async function acceptInvitation(
  db: Database,
  { token, name, password }: AcceptInvitationBody,
  caller: Caller | null,
  client: SignInClient,
  lifetimes: TokenLifetimes,
): Promise<{ kind: 'done'; userId: number; session: StartedSession | null } | SignInRequired | HttpProblem> {
  const linkHash = hashToken(token)
  const seen = await findByLink(db, linkHash)
  if (!seen) return NOT_VALID
  if (caller?.token.kind === 'personal')
    return { kind: 'forbidden', reason: 'Personal access tokens cannot accept invitations.' }
  const problem = checkHolder(seen, caller?.id ?? null) ?? checkFields({ name, password }, caller === null)
  if (problem) return problem
  // Before anything is locked: it is slow on purpose.
  const claimant: Claimant = caller
    ? { kind: 'signed-in', userId: caller.id }
    : { kind: 'newcomer', name, passwordHash: await hashPassword(password!) }
  return db.transaction().execute(async (trx) => {
    const claimed = await claimInvitation(trx, linkHash, claimant, client)
    if (claimed.kind !== 'claimed') return claimed
    const { userId } = claimed
    const session = caller ? null : (await startSession(trx, userId, 'invitation', client, lifetimes))!
    return { kind: 'done' as const, userId, session }
  })
}

/** Pure. */
function checkFields(fields: Pick<AcceptInvitationBody, 'name' | 'password'>, isNew: boolean) {
  const errors = new FieldErrors()
  if (isNew && fields.password === undefined) errors.add('password', 'is required for a new account')
  for (const [field, value] of Object.entries(fields))
    if (!isNew && value !== undefined) errors.add(field, 'is only for a new account: leave it out')
  return errors.problem
}

function nameOffer(db: Database, invitationId: number): Promise<ShownInvitation['grants']> {
  return db
    .selectFrom('invitation_grants as offer')
    .leftJoin('roles', 'roles.id', 'offer.role_id')
    .leftJoin('projects', 'projects.id', 'offer.project_id')
    .leftJoin('environments', 'environments.id', 'offer.environment_id')
    .select([sql<string>`coalesce(roles.name, offer.built_in_role)`.as('role_name')])
    .select(['projects.name as project_name', 'environments.name as environment_name'])
    .where('offer.invitation_id', '=', invitationId)
    .orderBy('offer.id')
    .execute()
}

/** Who accepts: the holder of an account, or somebody new, who signs in by the password or by other means. */
export type Claimant =
  | { kind: 'signed-in'; userId: number }
  | { kind: 'newcomer'; name: string | undefined; passwordHash: string | null }

/** `sign-in-required`: the address has an account, and its holder has to be signed in. */
export type SignInRequired = { kind: 'sign-in-required'; email: string }
export type Claimed = { kind: 'claimed'; userId: number } | SignInRequired | HttpProblem

/**
 * Grants what the invitation offers, once. Changes of members, removals of the invitation and other acceptances happen
 * before or after, and so does a deactivation of the inviter or of the account.
 */
export async function claimInvitation(
  trx: Transaction,
  linkHash: Buffer,
  claimant: Claimant,
  client: Omit<Actor, 'userId'>,
): Promise<Claimed> {
  const seen = await findByLink(trx, linkHash)
  if (!seen) return NOT_VALID
  await lockAddress(trx, seen)
  if (!(await lockMembers(trx, seen.organization_id))) return NOT_VALID
  await lockAccounts(trx, seen)
  const invitation = await findByLink(trx, linkHash)
  if (!invitation) return NOT_VALID
  const offer = await lockScopes(trx, invitation.offer)
  if (offer.length === 0) return NOT_VALID
  const problem = checkHolder(invitation, claimant.kind === 'signed-in' ? claimant.userId : null)
  if (problem) return problem

  const { account, email, organization_id: organizationId } = invitation
  const userId =
    claimant.kind === 'signed-in' ? claimant.userId : await createAccount(trx, invitation, claimant)
  const held = await loadGrants(trx, userId, organizationId)
  const added = offer.filter((one) => !held.some((other) => isSameGrant(one, other)))
  await trx.deleteFrom('invitations').where('id', '=', invitation.id).execute()
  const actor = { userId, ipAddress: client.ipAddress, requestId: client.requestId }
  const member = { organizationId, userId, email: account?.email ?? email }
  const verb = held.length === 0 ? 'joined' : 'changed'
  await storeGrants(trx, actor, member, verb, { held, removed: [], added, after: [...held, ...added] })
  return { kind: 'claimed', userId }
}

/** Pure: an existing account accepts by itself; for an address without one, nobody may be signed in. */
export function checkHolder(
  { account, email }: ValidInvitation,
  userId: number | null,
): SignInRequired | HttpProblem | undefined {
  if (userId === null) return account && { kind: 'sign-in-required', email: account.email }
  if (userId === account?.id) return undefined
  const advice = account ? 'sign in with that address' : 'sign out to create its account'
  const reason = `This invitation is for ${email}, and you are signed in with a different account: ${advice}.`
  return { kind: 'forbidden', reason }
}

/**
 * One at a time for each address: two organizations may have invited the same person, who may be signing up by single
 * sign-on. That locks the address first as well, and then the organizations whose roles it grants.
 */
async function lockAddress(trx: Transaction, { email }: ValidInvitation): Promise<void> {
  const address = email.toLowerCase()
  await sql`select pg_advisory_xact_lock(hashtextextended('account ' || ${address}::text, 0))`.execute(trx)
}

async function lockAccounts(trx: Transaction, { email, invited_by }: ValidInvitation): Promise<void> {
  const address = email.toLowerCase()
  await sql`select from users where id = ${invited_by} or lower(email) = ${address} order by id for share`.execute(
    trx,
  )
}

/** Without what is being removed. */
async function lockScopes(trx: Transaction, offer: readonly NewGrant[]): Promise<NewGrant[]> {
  const left: NewGrant[] = []
  for (const grant of offer) {
    const { project_id, environment_id } = grant
    const isThere =
      environment_id !== null
        ? await lockEnvironmentScope(trx, environment_id)
        : project_id === null || (await lockProject(trx, project_id))
    if (isThere) left.push(grant)
  }
  return left
}

async function createAccount(
  trx: Transaction,
  invitation: ValidInvitation,
  claimant: { name?: string; passwordHash: string | null },
): Promise<number> {
  const { name = invitation.name ?? invitation.email.split('@')[0]!, passwordHash } = claimant
  const { id } = await insertWithSlug(name, (url_slug) =>
    trx
      .insertInto('users')
      .values({ name, email: invitation.email, url_slug, password_hash: passwordHash })
      .onConflict((conflict) => conflict.column('url_slug').doNothing())
      .returning('id')
      .executeTakeFirst(),
  )
  return id
}
