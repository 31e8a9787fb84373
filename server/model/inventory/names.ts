import { sql, type Transaction } from 'kysely'
import type { Tables } from '#platform/database/tables.ts'

/** Where each kind of thing has a name of its own. */
const HOMES = {
  projects: 'organization_id',
  credentials: 'organization_id',
  environments: 'project_id',
  servers: 'environment_id',
  applications: 'environment_id',
} as const

/**
 * Whether another thing of the kind has that name there, or one that looks the same because its characters are only
 * composed in another way. Holds for as long as the caller keeps others from giving names there.
 */
export async function isNameTaken(
  trx: Transaction<Tables>,
  kind: keyof typeof HOMES,
  homeId: number,
  name: string,
  except = 0,
): Promise<boolean> {
  const alike = [name, name.normalize('NFC'), name.normalize('NFD')]
  const { rows } = await sql<{ isTaken: boolean }>`
    select exists (
      select from ${sql.table(kind)}
      where ${sql.ref(HOMES[kind])} = ${homeId} and name = any(${alike}::text[]) and id <> ${except}
        and deleted_at is null) as "isTaken"`.execute(trx)
  return rows[0]!.isTaken
}
