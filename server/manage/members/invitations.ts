import { sql } from 'kysely'
import type { TokenLifetimes } from '#access/accounts/sessions.ts'
import { type SignInClient, type StartedSession, startSession } from '#access/accounts/start-session.ts'
import { recordAudit } from '#access/audit/record.ts'
import { hashPassword } from '#platform/crypto/passwords.ts'
import { hashToken, newUrlToken } from '#platform/crypto/tokens.ts'
import { anyOf } from '#platform/database/any-of.ts'
import type { Database, Transaction } from '#platform/database/connect.ts'
import { NOW } from '#platform/database/rows.ts'
import type { HttpProblem } from '#platform/http/problems.ts'
import type { InvitationBody } from './schemas.ts'

// An account that was created by an invitation is pending until its person has used the link, which only they and the
// inviter have seen. A pending account belongs to one organization: the holder of the link gets everything that others
// grant to the account. It has a row here for as long as it is pending, even when no link works.

const LIFE = sql<string>`now() + interval '7 days'`

/** The organization whose invitation the user has not accepted yet. */
export async function pendingIn(trx: Transaction, userId: number): Promise<number | undefined> {
  const row = await trx
    .selectFrom('invitations')
    .select('organization_id')
    .where('user_id', '=', userId)
    .executeTakeFirst()
  return row?.organization_id
}

/** Creates the only link that works; returns its token, of which only the hash is stored. */
export async function invite(
  trx: Transaction,
  invitation: { userId: number; organizationId: number; invitedBy: number },
): Promise<string> {
  const token = `gty_in_${newUrlToken()}`
  await trx.deleteFrom('invitations').where('user_id', '=', invitation.userId).execute()
  await trx
    .insertInto('invitations')
    .values({
      user_id: invitation.userId,
      organization_id: invitation.organizationId,
      invited_by: invitation.invitedBy,
      hash: hashToken(token),
      expires_at: LIFE,
    })
    .execute()
  return token
}

/** Links that anyone other than the caller has seen stop working: the accounts are about to get more permissions. */
export async function expireLinksOfOthers(
  trx: Transaction,
  userIds: readonly number[],
  callerId: number,
): Promise<void> {
  await trx
    .updateTable('invitations')
    .set({ expires_at: NOW })
    .where(anyOf('user_id', userIds))
    .where('invited_by', '<>', callerId)
    .execute()
}

type AcceptOutcome = { kind: 'done'; session: StartedSession } | HttpProblem

const NOT_VALID: HttpProblem = {
  kind: 'invalid',
  errors: { token: ['is unknown, used or expired: ask for a new invitation'] },
}

/** Works once, within seven days, and logs in. */
export async function acceptInvitation(
  db: Database,
  { token, name, password }: InvitationBody,
  lifetimes: TokenLifetimes,
  client: SignInClient,
): Promise<AcceptOutcome> {
  const hash = hashToken(token)
  const seen = await findInvitation(db, hash)
  if (!seen) return NOT_VALID
  // Before anything is locked: it is slow on purpose.
  const password_hash = await hashPassword(password)
  return db.transaction().execute(async (trx): Promise<AcceptOutcome> => {
    await trx.selectFrom('users').select('id').where('id', '=', seen.user_id).forNoKeyUpdate().execute()
    const invitation = await findInvitation(trx, hash)
    if (!invitation) return NOT_VALID
    const { user_id, organization_id: organizationId, email } = invitation
    await trx.deleteFrom('invitations').where('user_id', '=', user_id).execute()
    await trx
      .updateTable('users')
      .set({ password_hash, ...(name !== undefined && { name }), updated_at: NOW })
      .where('id', '=', user_id)
      .execute()
    const subject = { type: 'member', id: user_id, name: email }
    const [before, after] = [{ has_joined: false }, { has_joined: true }]
    const member = { ...client, userId: user_id }
    await recordAudit(trx, member, { organizationId, verb: 'joined', subject, before, after })
    // Active: its row was locked before the invitation was read.
    return { kind: 'done', session: (await startSession(trx, user_id, 'invitation', client, lifetimes))! }
  })
}

function findInvitation(db: Database, hash: Buffer) {
  return db
    .selectFrom('invitations')
    .innerJoin('users', 'users.id', 'invitations.user_id')
    .select(['invitations.user_id', 'invitations.organization_id', 'users.email'])
    .where('invitations.hash', '=', hash)
    .where('invitations.expires_at', '>', NOW)
    .where('users.active', '=', true)
    .executeTakeFirst()
}
