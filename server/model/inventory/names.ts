import { sql } from 'kysely'
import type { Transaction } from '#platform/database/connect.ts'

/** Names are unique per parent. */
const PARENT_COLUMNS = {
  projects: 'organization_id',
  credentials: 'organization_id',
  environments: 'project_id',
  servers: 'environment_id',
  applications: 'environment_id',
} as const

/**
 * Whether another resource of the parent has that name, or one that looks the same because only its Unicode
 * normalization differs. True for as long as the caller keeps the parent locked.
 */
export async function isNameTaken(
  trx: Transaction,
  kind: keyof typeof PARENT_COLUMNS,
  parentId: number,
  name: string,
  except = 0,
): Promise<boolean> {
  const alike = [name, name.normalize('NFC'), name.normalize('NFD')]
  const { rows } = await sql<{ isTaken: boolean }>`
    select exists (
      select from ${sql.table(kind)}
      where ${sql.ref(PARENT_COLUMNS[kind])} = ${parentId} and name = any(${alike}::text[]) and id <> ${except}
        and deleted_at is null) as "isTaken"`.execute(trx)
  return rows[0]!.isTaken
}
