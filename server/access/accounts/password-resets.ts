import { sql } from 'kysely'
import { type Actor, recordAccount } from '#access/audit/record.ts'
import { hashPassword } from '#platform/crypto/passwords.ts'
import { hashToken, newUrlToken } from '#platform/crypto/tokens.ts'
import type { Database, Transaction } from '#platform/database/connect.ts'
import { NOW } from '#platform/database/rows.ts'
import { conflict, GONE, type HttpProblem, invalidAt } from '#platform/http/problems.ts'
import { lockUser, revokeSessions } from './manage-sessions.ts'
import type { TokenLifetimes } from './sessions.ts'
import { type SignInClient, type StartedSession, startSession } from './start-session.ts'

// A link to set a new password, for one account at a time. Its token is in the fragment of the URL, which browsers do
// not send to servers; only its hash is stored.

const LIFE = sql<string>`now() + interval '1 hour'`

/** Creates the only link that works, and signs the user out everywhere: the account may be in wrong hands. */
export async function createPasswordReset(db: Database, userId: number, actor: Actor, baseUrl: string) {
  return db.transaction().execute(async (trx) => {
    const user = await lockUser(trx, userId)
    if (!user) return GONE
    if (!user.active) return conflict('This account is deactivated: activate it first.')
    const token = `gty_rs_${newUrlToken()}`
    await trx.deleteFrom('password_resets').where('user_id', '=', userId).execute()
    const { expires_at } = await trx
      .insertInto('password_resets')
      .values({ user_id: userId, hash: hashToken(token), expires_at: LIFE })
      .returning('expires_at')
      .executeTakeFirstOrThrow()
    await revokeEverything(trx, userId)
    await recordAccount(trx, actor, 'password_reset_created', user)
    return { kind: 'done' as const, url: `${baseUrl}/app/reset-password#${token}`, expires_at }
  })
}

/** Unknown, used, expired, and of an account that is not active: all the same. */
export const NOT_VALID = invalidAt('token', 'is unknown, used or expired: ask for a new link')

/** The account that a link is for. */
export async function findPasswordReset(db: Database, token: string) {
  return db
    .selectFrom('password_resets')
    .innerJoin('users', 'users.id', 'password_resets.user_id')
    .select(['password_resets.user_id', 'users.email', 'password_resets.expires_at'])
    .where('password_resets.hash', '=', hashToken(token))
    .where('password_resets.expires_at', '>', NOW)
    .where('users.active', '=', true)
    .executeTakeFirst()
}

/** Works once. Sessions that began after the link was created end, too. */
export async function resetPassword(
  db: Database,
  { token, password }: { token: string; password: string },
  client: SignInClient,
  lifetimes: TokenLifetimes,
): Promise<{ kind: 'done'; session: StartedSession } | HttpProblem> {
  const seen = await findPasswordReset(db, token)
  if (!seen) return NOT_VALID
  // Before anything is locked: it is slow on purpose.
  const password_hash = await hashPassword(password)
  const userId = seen.user_id
  return db.transaction().execute(async (trx) => {
    const user = await lockUser(trx, userId)
    if (!user || !(await findPasswordReset(trx, token))) return NOT_VALID
    await trx.deleteFrom('password_resets').where('user_id', '=', userId).execute()
    await trx.updateTable('users').set({ password_hash, updated_at: NOW }).where('id', '=', userId).execute()
    await revokeEverything(trx, userId)
    const { ipAddress, requestId } = client
    await recordAccount(trx, { userId, ipAddress, requestId }, 'password_reset', user)
    const session = await startSession(trx, userId, 'password_reset', client, lifetimes)
    return session ? { kind: 'done' as const, session } : NOT_VALID
  })
}

/** Sessions and personal access tokens. */
async function revokeEverything(trx: Transaction, userId: number): Promise<void> {
  await revokeSessions(trx, userId)
  await trx
    .updateTable('tokens')
    .set({ revoked_at: NOW })
    .where('user_id', '=', userId)
    .where('kind', '=', 'personal')
    .where('revoked_at', 'is', null)
    .execute()
}
