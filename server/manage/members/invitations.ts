import { sql, type Transaction } from 'kysely'
import { type IssuedTokens, openSession, type TokenLives } from '#access/accounts/sessions.ts'
import { type Actor, recordAudit } from '#access/audit/record.ts'
import { hashPassword } from '#platform/crypto/passwords.ts'
import { hashToken, newUrlToken } from '#platform/crypto/tokens.ts'
import type { Database } from '#platform/database/connect.ts'
import type { Tables } from '#platform/database/tables.ts'
import type { InvitationBody } from './schemas.ts'

// An account that somebody else has made is pending until its person has used their link, which only they and
// whoever made it have seen. A pending account belongs to one organization: whoever holds the link could enter
// every place that others give it. It has a row here for as long as it is pending, also when no link works.

const LIFE = sql<string>`now() + interval '7 days'`

/** The organization that has invited somebody who has not come yet. */
export async function pendingIn(trx: Transaction<Tables>, userId: number): Promise<number | undefined> {
  const row = await trx
    .selectFrom('invitations')
    .select('organization_id')
    .where('user_id', '=', userId)
    .executeTakeFirst()
  return row?.organization_id
}

/** Makes the one link that works; returns its token, which is stored as a hash only. */
export async function invite(
  trx: Transaction<Tables>,
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

/** Links that somebody else has seen stop working: the account is about to be worth more than they gave it. */
export async function voidLinksOfOthers(
  trx: Transaction<Tables>,
  userId: number,
  callerId: number,
): Promise<void> {
  await trx
    .updateTable('invitations')
    .set({ expires_at: sql<string>`now()` })
    .where('user_id', '=', userId)
    .where('invited_by', '<>', callerId)
    .execute()
}

export type AcceptOutcome = { kind: 'in'; tokens: IssuedTokens } | { kind: 'invalid' }

/** Works once, within seven days. The answer is that of a login. */
export async function acceptInvitation(
  db: Database,
  { token, name, password }: InvitationBody,
  lives: TokenLives,
  actor: Actor,
): Promise<AcceptOutcome> {
  const hash = hashToken(token)
  const seen = await findInvitation(db, hash)
  if (!seen) return { kind: 'invalid' }
  // Before anything is locked: it takes its time, on purpose.
  const password_hash = await hashPassword(password)
  return db.transaction().execute(async (trx): Promise<AcceptOutcome> => {
    await trx.selectFrom('users').select('id').where('id', '=', seen.user_id).forNoKeyUpdate().execute()
    const invitation = await findInvitation(trx, hash)
    if (!invitation) return { kind: 'invalid' }
    const { user_id, organization_id, email } = invitation
    await trx.deleteFrom('invitations').where('user_id', '=', user_id).execute()
    await trx
      .updateTable('users')
      .set({ password_hash, ...(name !== undefined && { name }), updated_at: sql<string>`now()` })
      .where('id', '=', user_id)
      .execute()
    await recordAudit(
      trx,
      { ...actor, userId: user_id },
      {
        organizationId: organization_id,
        verb: 'joined',
        subject: { type: 'member', id: user_id, name: email },
        before: { has_joined: false },
        after: { has_joined: true },
      },
    )
    return { kind: 'in', tokens: await openSession(trx, user_id, lives) }
  })
}

function findInvitation(db: Database, hash: Buffer) {
  return db
    .selectFrom('invitations')
    .innerJoin('users', 'users.id', 'invitations.user_id')
    .select(['invitations.user_id', 'invitations.organization_id', 'users.email'])
    .where('invitations.hash', '=', hash)
    .where('invitations.expires_at', '>', sql<string>`now()`)
    .where('users.active', '=', true)
    .executeTakeFirst()
}
