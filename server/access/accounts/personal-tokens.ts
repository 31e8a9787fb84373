import { type NotNull, sql } from 'kysely'
import { hashToken, newToken } from '#platform/crypto/tokens.ts'
import type { Database } from '#platform/database/connect.ts'
import type { Page } from '#platform/http/pagination.ts'
import { readPage } from '#platform/http/read-page.ts'

const columns = ['id', 'name', 'expires_at', 'used_at as last_used_at', 'created_at'] as const

export async function createPersonalToken(
  db: Database,
  userId: number,
  { name, expiresAt }: { name: string; expiresAt: Date | null },
) {
  const token = newToken('personal')
  const row = await db
    .insertInto('tokens')
    .values({ user_id: userId, kind: 'personal', name, hash: hashToken(token), expires_at: expiresAt })
    .returning(columns)
    .executeTakeFirstOrThrow()
  return { ...row, name, token }
}

export async function listPersonalTokens(db: Database, userId: number, page: Page) {
  const active = db
    .selectFrom('tokens')
    .select(columns)
    .where('user_id', '=', userId)
    .where('kind', '=', 'personal')
    .where('revoked_at', 'is', null)
    .$narrowType<{ name: NotNull }>()
  return readPage(active, 'tokens', page)
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
