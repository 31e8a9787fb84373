import { anyOf } from '#platform/database/any-of.ts'
import type { Database } from '#platform/database/connect.ts'
import { markStable } from '#platform/http/stable-json.ts'
import { type User, userColumns } from './user-schema.ts'

export async function loadUsers(db: Database, ids: readonly number[]): Promise<User[]> {
  const rows = await db.selectFrom('users').select(userColumns).where(anyOf('users.id', ids)).execute()
  return rows.map((row) => markStable(row))
}
