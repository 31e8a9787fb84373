import { type Actor, recordAudit } from '#access/audit/record.ts'
import type { Database } from '#platform/database/connect.ts'
import { NOW, rowVersion } from '#platform/database/rows.ts'
import { isOutdated } from '#platform/http/if-match.ts'
import { CHANGED_MEANWHILE } from '#platform/http/problems.ts'
import { type User, userColumns } from './user-schema.ts'

/** With the version that `If-Match` refers to. */
export async function readProfile(db: Database, id: number): Promise<{ user: User; version: string }> {
  const { row_version, ...user } = await db
    .selectFrom('users')
    .select(userColumns)
    .select(rowVersion('users'))
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  return { user, version: row_version }
}

/** What is not given stays; without a difference nothing is stored. */
export async function changeProfile(
  db: Database,
  { id }: { id: number },
  input: { name?: string; language?: string },
  actor: Actor,
  ifMatch?: string,
) {
  return db.transaction().execute(async (trx) => {
    await trx.selectFrom('users').select('id').where('id', '=', id).forNoKeyUpdate().execute()
    const stored = await readProfile(trx, id)
    if (isOutdated(ifMatch, stored.version)) return CHANGED_MEANWHILE
    const { user: before } = stored
    const { name = before.name, language = before.language } = input
    if (name === before.name && language === before.language) return { kind: 'done' as const, ...stored }
    await trx.updateTable('users').set({ name, language, updated_at: NOW }).where('id', '=', id).execute()
    const changed = await readProfile(trx, id)
    const after = changed.user
    const shown = ({ name, language }: User) => ({ name, language })
    await recordAudit(trx, actor, {
      organizationId: null,
      verb: 'changed',
      subject: { type: 'user', id, name: after.email },
      before: shown(before),
      after: shown(after),
    })
    return { kind: 'done' as const, ...changed }
  })
}
