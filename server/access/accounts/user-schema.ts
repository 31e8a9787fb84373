import { type Static, Type } from 'typebox'
import type { Database } from '#platform/database/connect.ts'
import { Exactly, Id, named, Timestamp } from '#platform/http/schemas.ts'

export const userSchema = named(
  'User',
  Exactly({
    id: Id,
    name: Type.String(),
    email: Type.String(),
    url_slug: Type.String(),
    language: Type.String(),
    active: Type.Boolean(),
    created_at: Timestamp,
    updated_at: Timestamp,
  }),
)

export const currentPassword = Type.String({ minLength: 1, maxLength: 255, description: 'The present one.' })
export const newPassword = Type.String({
  minLength: 8,
  maxLength: 255,
  description: 'At least 8 characters.',
})

export type User = Static<typeof userSchema>

/** The public part of an account. */
export const userColumns = Object.keys(userSchema.properties) as (keyof User)[]

export async function loadUser(db: Database, id: number): Promise<User> {
  return db.selectFrom('users').select(userColumns).where('id', '=', id).executeTakeFirstOrThrow()
}
