// Accounts: login, sessions and personal access tokens. This file issues and revokes the tokens of a login; the
// database says what time it is.
import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { hashToken, newToken } from '#platform/crypto/tokens.ts'
import type { Database, Transaction } from '#platform/database/connect.ts'

export type TokenLifetimes = { accessTokenMinutes: number; refreshTokenDays: number }
export type IssuedTokens = Awaited<ReturnType<typeof openSession>>

const now = sql<string>`now()`
const accessLifetime = ({ accessTokenMinutes }: TokenLifetimes) =>
  sql`${accessTokenMinutes}::int * interval '1 minute'`
const refreshLifetime = ({ refreshTokenDays }: TokenLifetimes) =>
  sql`${refreshTokenDays}::int * interval '1 day'`

/** Issues one access and one refresh token. A login starts a new family of tokens; a refresh continues its own. */
export async function openSession(
  trx: Transaction,
  userId: number,
  lifetimes: TokenLifetimes,
  family: string = randomUUID(),
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

type RefreshOutcome = { kind: 'refreshed'; tokens: IssuedTokens } | { kind: 'reused' } | { kind: 'unknown' }

/**
 * Exchanges a refresh token for new tokens. Each one works once: a second use means that one of its two users stole
 * it, and revokes the whole family.
 */
export async function refreshSession(
  db: Database,
  token: string,
  lifetimes: TokenLifetimes,
): Promise<RefreshOutcome> {
  const hash = hashToken(token)
  return db.transaction().execute(async (trx): Promise<RefreshOutcome> => {
    const known = await trx.selectFrom('tokens').select('family').where('hash', '=', hash).executeTakeFirst()
    if (!known?.family) return { kind: 'unknown' }
    await lockFamily(trx, known.family)
    const row = await trx
      .selectFrom('tokens')
      .innerJoin('users', 'users.id', 'tokens.user_id')
      .select(['tokens.id', 'tokens.user_id', 'tokens.family', 'tokens.used_at'])
      .where('tokens.hash', '=', hash)
      .where('tokens.kind', '=', 'refresh')
      .where('tokens.revoked_at', 'is', null)
      .where('tokens.expires_at', '>', now)
      .where('users.active', '=', true)
      .executeTakeFirst()
    if (!row?.family) return { kind: 'unknown' }
    if (row.used_at !== null) {
      await revokeFamily(trx, row.family)
      return { kind: 'reused' }
    }
    await trx.updateTable('tokens').set({ used_at: now }).where('id', '=', row.id).execute()
    return { kind: 'refreshed', tokens: await openSession(trx, row.user_id, lifetimes, row.family) }
  })
}

/** Revokes the login that a token belongs to; a personal token is revoked alone. */
export async function closeSession(
  db: Database,
  { id, family }: { id: number; family: string | null },
): Promise<void> {
  if (family === null) {
    await db.updateTable('tokens').set({ revoked_at: now }).where('id', '=', id).execute()
    return
  }
  await db.transaction().execute(async (trx) => {
    await lockFamily(trx, family)
    await revokeFamily(trx, family)
  })
}

/** Deletes what can never be used again; run by a job. */
export async function pruneTokens(db: Database): Promise<void> {
  const yesterday = sql<string>`now() - interval '1 day'`
  await db.deleteFrom('tokens').where('expires_at', '<', yesterday).execute()
  await db.deleteFrom('login_failures').where('failed_at', '<', yesterday).execute()
}

/**
 * Until the transaction ends nobody else adds to a family or revokes it: a token issued during a revocation would
 * not be seen by it, and would survive.
 */
async function lockFamily(trx: Transaction, family: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${family}, 0))`.execute(trx)
}

async function revokeFamily(trx: Transaction, family: string): Promise<void> {
  await trx
    .updateTable('tokens')
    .set({ revoked_at: now })
    .where('family', '=', family)
    .where('revoked_at', 'is', null)
    .execute()
}

/**
 * A browser session: one access token in a cookie, alone in its family. Use extends it, up to the age that a login of
 * a program can reach by refreshing.
 */
export async function openCookieSession(
  trx: Transaction,
  userId: number,
  lifetimes: TokenLifetimes,
): Promise<{ token: string; userId: number; expiresAt: string }> {
  const token = newToken('access')
  const { expires_at } = await trx
    .insertInto('tokens')
    .values({
      user_id: userId,
      kind: 'access',
      family: randomUUID(),
      in_cookie: true,
      hash: hashToken(token),
      expires_at: sql<string>`now() + ${accessLifetime(lifetimes)}`,
    })
    .returning('expires_at')
    .executeTakeFirstOrThrow()
  return { token, userId, expiresAt: expires_at! }
}

/**
 * Restores the full lifetime of a session once half of it has passed; returns the seconds, or undefined when nothing
 * changed. The token stays the same: concurrent requests would invalidate each other's.
 */
export async function renewCookieSession(
  db: Database,
  tokenId: number,
  lifetimes: TokenLifetimes,
): Promise<number | undefined> {
  const [lifetime, maxAge] = [accessLifetime(lifetimes), refreshLifetime(lifetimes)]
  const { rows } = await sql<{ seconds: number }>`
    update tokens set expires_at = least(now() + ${lifetime}, created_at + ${maxAge})
    where id = ${tokenId} and in_cookie and revoked_at is null
      and expires_at between now() and now() + ${lifetime} / 2
      and expires_at < created_at + ${maxAge}
    returning floor(extract(epoch from expires_at - now()))::int as seconds`.execute(db)
  return rows[0]?.seconds
}
