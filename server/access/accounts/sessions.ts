import { randomUUID } from 'node:crypto'
import { sql, type Transaction } from 'kysely'
import { hashToken, newToken } from '#platform/crypto/tokens.ts'
import type { Database } from '#platform/database/connect.ts'
import type { Tables } from '#platform/database/tables.ts'

export type TokenLives = { accessTokenMinutes: number; refreshTokenDays: number }

export type IssuedTokens = {
  access_token: string
  token_type: 'bearer'
  expires_in: number
  refresh_token: string
}

export type RefreshOutcome =
  | { kind: 'refreshed'; tokens: IssuedTokens }
  | { kind: 'reused' }
  | { kind: 'unknown' }

/** A login: a new family of one access and one refresh token. */
export function openSession(
  trx: Transaction<Tables>,
  userId: number,
  lives: TokenLives,
): Promise<IssuedTokens> {
  return issueTokens(trx, userId, randomUUID(), lives)
}

/**
 * Trades a refresh token for new tokens. Each one works once: a second use means that it was stolen, by
 * one of the two who used it, and ends the whole family.
 */
export async function refreshSession(
  db: Database,
  token: string,
  lives: TokenLives,
): Promise<RefreshOutcome> {
  const hash = hashToken(token)
  return db.transaction().execute(async (trx): Promise<RefreshOutcome> => {
    const known = await trx.selectFrom('tokens').select('family').where('hash', '=', hash).executeTakeFirst()
    if (!known?.family) return { kind: 'unknown' }
    await holdFamily(trx, known.family)
    const row = await trx
      .selectFrom('tokens')
      .innerJoin('users', 'users.id', 'tokens.user_id')
      .select(['tokens.id', 'tokens.user_id', 'tokens.family', 'tokens.used_at'])
      .where('tokens.hash', '=', hash)
      .where('tokens.kind', '=', 'refresh')
      .where('tokens.revoked_at', 'is', null)
      .where('tokens.expires_at', '>', sql<string>`now()`)
      .where('users.active', '=', true)
      .executeTakeFirst()
    if (!row?.family) return { kind: 'unknown' }
    if (row.used_at !== null) {
      await revokeFamily(trx, row.family)
      return { kind: 'reused' }
    }
    await trx.updateTable('tokens').set({ used_at: sql<string>`now()` }).where('id', '=', row.id).execute()
    return { kind: 'refreshed', tokens: await issueTokens(trx, row.user_id, row.family, lives) }
  })
}

/** Ends the login that a token belongs to; a personal token ends alone. */
export async function closeSession(
  db: Database,
  token: { id: number; family: string | null },
): Promise<void> {
  const { family } = token
  if (family !== null) {
    return db.transaction().execute(async (trx) => {
      await holdFamily(trx, family)
      await revokeFamily(trx, family)
    })
  }
  await db.updateTable('tokens').set({ revoked_at: sql<string>`now()` }).where('id', '=', token.id).execute()
}

/** Removes what can never be used again; run by a job. */
export async function pruneTokens(db: Database): Promise<void> {
  await db.deleteFrom('tokens').where('expires_at', '<', sql<string>`now() - interval '1 day'`).execute()
  await db
    .deleteFrom('login_failures')
    .where('failed_at', '<', sql<string>`now() - interval '1 day'`)
    .execute()
}

/**
 * Until the end of the transaction nobody else adds to a family or revokes it: tokens that are being made
 * while their family is revoked would not be seen, and would live on.
 */
async function holdFamily(trx: Transaction<Tables>, family: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${family}, 0))`.execute(trx)
}

async function revokeFamily(trx: Transaction<Tables>, family: string): Promise<void> {
  await trx
    .updateTable('tokens')
    .set({ revoked_at: sql<string>`now()` })
    .where('family', '=', family)
    .where('revoked_at', 'is', null)
    .execute()
}

async function issueTokens(
  trx: Transaction<Tables>,
  userId: number,
  family: string,
  lives: TokenLives,
): Promise<IssuedTokens> {
  const access = newToken('access')
  const refresh = newToken('refresh')
  const common = { user_id: userId, family }
  await trx
    .insertInto('tokens')
    .values([
      {
        ...common,
        kind: 'access',
        hash: hashToken(access),
        expires_at: inFuture(lives.accessTokenMinutes, 'minutes'),
      },
      {
        ...common,
        kind: 'refresh',
        hash: hashToken(refresh),
        expires_at: inFuture(lives.refreshTokenDays, 'days'),
      },
    ])
    .execute()
  return {
    access_token: access,
    token_type: 'bearer',
    expires_in: lives.accessTokenMinutes * 60,
    refresh_token: refresh,
  }
}

/** The database says what time it is. */
function inFuture(count: number, unit: 'minutes' | 'days') {
  return sql<string>`now() + ${count}::int * ${sql.lit(`1 ${unit}`)}::interval`
}
