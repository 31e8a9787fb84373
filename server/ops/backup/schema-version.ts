import type { Transaction } from 'kysely'
import { createMigrator } from '#platform/database/migrate.ts'
import type { Tables } from '#platform/database/tables.ts'

export type SchemaFit =
  | { kind: 'fits' }
  /** It has migrations that we do not have. */
  | { kind: 'newer' }
  /** Its migrations and ours do not begin alike. */
  | { kind: 'foreign' }

/** Whether tables with these migrations can be brought up to ours. Pure. */
export function compareSchemas(theirs: string[], ours: string[]): SchemaFit {
  const common = Math.min(theirs.length, ours.length)
  if (theirs.slice(0, common).some((name, index) => name !== ours[index])) return { kind: 'foreign' }
  if (theirs.length > ours.length) return { kind: 'newer' }
  return theirs.length === 0 ? { kind: 'foreign' } : { kind: 'fits' }
}

/** As far as this migration and no further, in the caller's transaction. */
export async function migrateTo(trx: Transaction<Tables>, name: string): Promise<void> {
  const { error } = await createMigrator(trx).migrateTo(name)
  if (error) throw error
}
