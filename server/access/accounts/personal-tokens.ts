import { sql } from 'kysely'
import { hashToken, newToken } from '#platform/crypto/tokens.ts'
import type { Database } from '#platform/database/connect.ts'

export type PersonalToken = {
  id: number
  name: string
  expires_at: string | null
  last_used_at: string | null
  created_at: string
}

const columns = ['id', 'name', 'expires_at', 'used_at as last_used_at', 'created_at'] as const

export async function createPersonalToken(
  db: Database,
  userId: number,
  wish: { name: string; expiresAt: Date | null },
): Promise<PersonalToken & { token: string }> {
  const token = newToken('personal')
  const row = await db
    .insertInto('tokens')
    .values({
      user_id: userId,
      kind: 'personal',
      name: wish.name,
      hash: hashToken(token),
      expires_at: wish.expiresAt,
    })
    .returning(columns)
    .executeTakeFirstOrThrow()
  return { ...row, name: wish.name, token }
}

export async function listPersonalTokens(
  db: Database,
  userId: number,
  page: { limit: number; offset: number },
): Promise<{ rows: PersonalToken[]; total: number }> {
  const alive = db
    .selectFrom('tokens')
    .where('user_id', '=', userId)
    .where('kind', '=', 'personal')
    .where('revoked_at', 'is', null)
  const [rows, count] = await Promise.all([
    alive.select(columns).orderBy('id', 'desc').limit(page.limit).offset(page.offset).execute(),
    alive.select(({ fn }) => fn.countAll<number>().as('total')).executeTakeFirstOrThrow(),
  ])
  return { rows: rows.map((row) => ({ ...row, name: row.name ?? '' })), total: count.total }
}

/** False when the user has no such token. */
export async function revokePersonalToken(db: Database, userId: number, id: number): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('tokens')
    .set({ revoked_at: sql<string>`now()` })
    .where('id', '=', id)
    .where('user_id', '=', userId)
    .where('kind', '=', 'personal')
    .where('revoked_at', 'is', null)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}
