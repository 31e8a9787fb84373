import { anyOf } from '#platform/database/any-of.ts'
import type { Database } from '#platform/database/connect.ts'
import { type User, userColumns } from './user-schema.ts'

export async function loadUsers(db: Database, ids: readonly number[]): Promise<User[]> {
  return db.selectFrom('users').select(userColumns).where(anyOf('users.id', ids)).execute()
}
