import { type Actor, recordAudit } from '#access/audit/record.ts'
import type { Database } from '#platform/database/connect.ts'
import { NOW } from '#platform/database/rows.ts'
import { loadUser, type User } from './user-schema.ts'

/** What is not given stays; without a difference nothing is stored. */
export async function changeProfile(
  db: Database,
  { id }: { id: number },
  input: { name?: string; language?: string },
  actor: Actor,
): Promise<User> {
  return db.transaction().execute(async (trx) => {
    await trx.selectFrom('users').select('id').where('id', '=', id).forNoKeyUpdate().execute()
    const before = await loadUser(trx, id)
    const { name = before.name, language = before.language } = input
    if (name === before.name && language === before.language) return before
    await trx.updateTable('users').set({ name, language, updated_at: NOW }).where('id', '=', id).execute()
    const after = await loadUser(trx, id)
    const shown = ({ name, language }: User) => ({ name, language })
    await recordAudit(trx, actor, {
      organizationId: null,
      verb: 'changed',
      subject: { type: 'user', id, name: after.email },
      before: shown(before),
      after: shown(after),
    })
    return after
  })
}
