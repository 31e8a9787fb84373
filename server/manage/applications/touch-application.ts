import { sql, type Transaction } from 'kysely'
import type { Actor } from '#access/audit/record.ts'
import type { Tables } from '#platform/database/tables.ts'

/** Whoever makes a change, for the audit. */
export type ChangeDeps = { actor: Actor }

/** Also what changes around an application, such as its links, makes it another version of itself. */
export async function updateApplication(
  trx: Transaction<Tables>,
  id: number,
  columns: object = {},
): Promise<void> {
  await trx
    .updateTable('applications')
    .set({ ...columns, updated_at: sql<string>`now()` })
    .where('id', '=', id)
    .execute()
}
