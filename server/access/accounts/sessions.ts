// Accounts: login, sessions and personal access tokens. This file issues and revokes the tokens of a session; the
// database says what time it is.
import { sql } from 'kysely'
import { type Actor, recordAccount } from '#access/audit/record.ts'
import { hashToken, newToken } from '#platform/crypto/tokens.ts'
import type { Database, Transaction } from '#platform/database/connect.ts'
import { findRow, NOW } from '#platform/database/rows.ts'

export type TokenLifetimes = { accessTokenMinutes: number; refreshTokenDays: number }
/** What the routes of accounts need. */
export type AccountDeps = { db: Database; lifetimes: TokenLifetimes; baseUrl: () => string }
export type IssuedTokens = Awaited<ReturnType<typeof issueTokens>>

const accessLifetime = ({ accessTokenMinutes }: TokenLifetimes) =>
  sql`${accessTokenMinutes}::int * interval '1 minute'`
const refreshLifetime = ({ refreshTokenDays }: TokenLifetimes) =>
  sql`${refreshTokenDays}::int * interval '1 day'`

/** The session that tokens belong to, by the family that they share. */
export type TokenFamily = { userId: number; family: string }

/** One access and one refresh token, at the start of a session and at each refresh. */
export async function issueTokens(
  trx: Transaction,
  { userId, family }: TokenFamily,
  lifetimes: TokenLifetimes,
) {
  const access_token = newToken('access')
  const refresh_token = newToken('refresh')
  const common = { user_id: userId, family }
  const accessExpiry = sql<string>`now() + ${accessLifetime(lifetimes)}`
  const refreshExpiry = sql<string>`now() + ${refreshLifetime(lifetimes)}`
  await trx
    .insertInto('tokens')
    .values([
      { ...common, kind: 'access', hash: hashToken(access_token), expires_at: accessExpiry },
      { ...common, kind: 'refresh', hash: hashToken(refresh_token), expires_at: refreshExpiry },
    ])
    .execute()
  const expires_in = lifetimes.accessTokenMinutes * 60
  return { access_token, token_type: 'bearer' as const, expires_in, refresh_token }
}

/**
 * The token of a browser session, alone in its family. Use extends it, up to the age that a login of a program can
 * reach by refreshing.
 */
export async function issueCookieToken(
  trx: Transaction,
  { userId, family }: TokenFamily,
  lifetimes: TokenLifetimes,
): Promise<{ token: string; expiresAt: string }> {
  const token = newToken('access')
  const { expires_at } = await trx
    .insertInto('tokens')
    .values({
      user_id: userId,
      kind: 'access',
      family,
      in_cookie: true,
      hash: hashToken(token),
      expires_at: sql<string>`now() + ${accessLifetime(lifetimes)}`,
    })
    .returning('expires_at')
    .executeTakeFirstOrThrow()
  return { token, expiresAt: expires_at! }
}

type RefreshOutcome = { kind: 'refreshed'; tokens: IssuedTokens } | { kind: 'reused' } | { kind: 'unknown' }

/**
 * Exchanges a refresh token for new tokens. Each one works once: a second use means that one of its two users stole
 * it, and revokes the whole family.
 */
export async function refreshSession(
  db: Database,
  token: string,
  lifetimes: TokenLifetimes,
  actor: Actor,
): Promise<RefreshOutcome> {
  const hash = hashToken(token)
  return db.transaction().execute(async (trx): Promise<RefreshOutcome> => {
    const known = await findRow(trx, 'tokens', { hash }, ['user_id', 'family'])
    if (!known?.family) return { kind: 'unknown' }
    await lockFamily(trx, { userId: known.user_id, family: known.family })
    const row = await trx
      .selectFrom('tokens')
      .innerJoin('users', 'users.id', 'tokens.user_id')
      .select(['tokens.id', 'tokens.user_id', 'tokens.family', 'tokens.used_at', 'users.email'])
      .where('tokens.hash', '=', hash)
      .where('tokens.kind', '=', 'refresh')
      .where('tokens.revoked_at', 'is', null)
      .where('tokens.expires_at', '>', NOW)
      .where('users.active', '=', true)
      .executeTakeFirst()
    if (!row?.family) return { kind: 'unknown' }
    const session = { userId: row.user_id, family: row.family }
    if (row.used_at !== null) {
      await revokeFamily(trx, session.family)
      const account = { id: row.user_id, email: row.email }
      await recordAccount(trx, actor, 'session_ended', account, { after: { reason: 'refresh_token_reused' } })
      return { kind: 'reused' }
    }
    await trx.updateTable('tokens').set({ used_at: NOW }).where('id', '=', row.id).execute()
    await trx
      .updateTable('sessions')
      .set({ last_used_at: NOW })
      .where('family', '=', session.family)
      .execute()
    return { kind: 'refreshed', tokens: await issueTokens(trx, session, lifetimes) }
  })
}

/** Revokes all tokens of a session. */
export async function revokeSession(trx: Transaction, session: TokenFamily): Promise<void> {
  await lockFamily(trx, session)
  await revokeFamily(trx, session.family)
}

/** Deletes what can never be used again; run by a job. */
export async function pruneTokens(db: Database): Promise<void> {
  const yesterday = sql<string>`now() - interval '1 day'`
  await db.deleteFrom('tokens').where('expires_at', '<', yesterday).where('kind', '<>', 'personal').execute()
  // Kept for a while: a script that still sends one gets `token_expired`.
  await sql`
    delete from tokens where kind = 'personal' and expires_at < now() - interval '30 days'`.execute(db)
  await sql`
    delete from sessions s where created_at < ${yesterday}
      and not exists (select from tokens t where t.family = s.family)`.execute(db)
  await db.deleteFrom('login_failures').where('failed_at', '<', yesterday).execute()
  await db.deleteFrom('password_resets').where('expires_at', '<', yesterday).execute()
  // The newest one stays: it says when the account was last used.
  await sql`
    delete from sign_in_networks n where signed_in_at < now() - interval '90 days'
      and exists (select from sign_in_networks m where m.user_id = n.user_id
        and (m.signed_in_at, m.network) > (n.signed_in_at, n.network))`.execute(db)
}

/**
 * Until the transaction ends nobody else adds to a family or revokes it: a token issued during a revocation would
 * not be seen by it, and would survive. Revoking everything of a user locks the user exclusively.
 */
async function lockFamily(trx: Transaction, { userId, family }: TokenFamily): Promise<void> {
  await trx.selectFrom('users').select('id').where('id', '=', userId).forShare().execute()
  await sql`select pg_advisory_xact_lock(hashtextextended(${family}, 0))`.execute(trx)
}

async function revokeFamily(trx: Transaction, family: string): Promise<void> {
  await trx
    .updateTable('tokens')
    .set({ revoked_at: NOW })
    .where('family', '=', family)
    .where('revoked_at', 'is', null)
    .execute()
}

/**
 * Restores the full lifetime of a session once half of it has passed; returns the seconds, or undefined when nothing
 * changed. The token stays the same: concurrent requests would invalidate each other's.
 */
export async function renewCookieSession(db: Database, tokenId: number, lifetimes: TokenLifetimes) {
  const [lifetime, maxAge] = [accessLifetime(lifetimes), refreshLifetime(lifetimes)]
  const { rows } = await sql<{ seconds: number }>`
    update tokens set expires_at = least(now() + ${lifetime}, created_at + ${maxAge})
    where id = ${tokenId} and in_cookie and revoked_at is null
      and expires_at between now() and now() + ${lifetime} / 2
      and expires_at < created_at + ${maxAge}
    returning floor(extract(epoch from expires_at - now()))::int as seconds`.execute(db)
  return rows[0]?.seconds
}
