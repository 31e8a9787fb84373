import type { Selectable } from 'kysely'
import { type Static, Type } from 'typebox'
import type { UsersTable } from '#platform/database/tables.ts'
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

export type User = Static<typeof userSchema>

export const userColumns = [
  'id',
  'name',
  'email',
  'url_slug',
  'language',
  'active',
  'created_at',
  'updated_at',
] as const

/** What others may see of an account. */
export function toUser(row: Pick<Selectable<UsersTable>, (typeof userColumns)[number]>): User {
  const { id, name, email, url_slug, language, active, created_at, updated_at } = row
  return { id, name, email, url_slug, language, active, created_at, updated_at }
}
