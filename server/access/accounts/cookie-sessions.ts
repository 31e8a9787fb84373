import { randomUUID } from 'node:crypto'
import { sql, type Transaction } from 'kysely'
import { hashToken, newToken } from '#platform/crypto/tokens.ts'
import type { Database } from '#platform/database/connect.ts'
import type { Tables } from '#platform/database/tables.ts'
import type { TokenLives } from './sessions.ts'

// A browser's session: one access token, alone in its family, that lives in a cookie. Use makes it live on, up to
// the age that a login of a program can reach by refreshing.

export type CookieSession = { token: string; userId: number; expiresAt: string }

export async function openCookieSession(
  trx: Transaction<Tables>,
  userId: number,
  lives: TokenLives,
): Promise<CookieSession> {
  const token = newToken('access')
  const { expires_at } = await trx
    .insertInto('tokens')
    .values({
      user_id: userId,
      kind: 'access',
      family: randomUUID(),
      in_cookie: true,
      hash: hashToken(token),
      expires_at: sql<string>`now() + ${life(lives)}`,
    })
    .returning('expires_at')
    .executeTakeFirstOrThrow()
  return { token, userId, expiresAt: expires_at! }
}

/**
 * Gives a session its full life again once half of it is over; the number of seconds, or undefined when nothing
 * was to be done. The token stays the same: requests that are under way at once would lose each other's.
 */
export async function renewCookieSession(
  db: Database,
  tokenId: number,
  lives: TokenLives,
): Promise<number | undefined> {
  const { rows } = await sql<{ seconds: number }>`
    update tokens set expires_at = least(now() + ${life(lives)}, created_at + ${longest(lives)})
    where id = ${tokenId} and in_cookie and revoked_at is null
      and expires_at between now() and now() + ${life(lives)} / 2
      and expires_at < created_at + ${longest(lives)}
    returning floor(extract(epoch from expires_at - now()))::int as seconds`.execute(db)
  return rows[0]?.seconds
}

const life = ({ accessTokenMinutes }: TokenLives) => sql`${accessTokenMinutes}::int * interval '1 minute'`
const longest = ({ refreshTokenDays }: TokenLives) => sql`${refreshTokenDays}::int * interval '1 day'`
