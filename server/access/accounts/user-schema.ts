import type { Database } from '#platform/database/connect.ts'
import * as t from '#platform/http/schemas.ts'

export const userSchema = t.namedObject('User', {
  id: t.idOf('user'),
  name: t.Text('The name of the user, for display.'),
  email: t.Text('The email address, which the user signs in with.'),
  url_slug: t.Text('Unique, derived from the name.'),
  language: t.Text('The preferred language, as a BCP 47 tag such as `en`.'),
  active: t.Flag('Whether the user may sign in and use tokens.'),
  ...t.timestamps,
})

export const currentPassword = t.Text({
  minLength: 1,
  maxLength: 255,
  description: 'The current password.',
})
export const newPassword = t.Text({
  minLength: 8,
  maxLength: 255,
  description: 'The new password: at least 8 characters.',
})

/** Of an invitation, or of a password reset. */
export const linkToken = t.Text({
  minLength: 1,
  maxLength: 512,
  description: 'The part of the link after `#`.',
})

export type User = t.Static<typeof userSchema>

/** The public part of an account. */
export const userColumns = Object.keys(userSchema.properties) as (keyof User)[]

export async function loadUser(db: Database, id: number): Promise<User> {
  return db.selectFrom('users').select(userColumns).where('id', '=', id).executeTakeFirstOrThrow()
}

export async function isInstanceAdmin(db: Database, id: number): Promise<boolean> {
  const columns = db.selectFrom('users').select('is_instance_admin')
  return (await columns.where('id', '=', id).executeTakeFirstOrThrow()).is_instance_admin
}
