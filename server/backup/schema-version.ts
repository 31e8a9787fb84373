import { readdir } from 'node:fs/promises'
import type { Kysely, Transaction } from 'kysely'
import { type Migration, Migrator } from 'kysely/migration'
import type { Tables } from '#database/tables.ts'

const FOLDER = new URL('../database/migrations/', import.meta.url)

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

export async function knownMigrations(): Promise<string[]> {
  const files = (await readdir(FOLDER)).filter((name) => /^\d{4}-.*\.ts$/.test(name)).sort()
  return files.map((file) => file.slice(0, -'.ts'.length))
}

/** As far as this migration and no further, in the caller's transaction. */
export async function migrateTo(trx: Transaction<Tables>, name: string): Promise<void> {
  const { error } = await new Migrator({
    // The migrator looks whether it is in a transaction already.
    db: trx as Kysely<Tables>,
    provider: { getMigrations: importMigrations },
    migrationTableName: 'schema_migrations',
    migrationLockTableName: 'schema_migrations_lock',
  }).migrateTo(name)
  if (error) throw error
}

async function importMigrations(): Promise<Record<string, Migration>> {
  const entries = (await knownMigrations()).map(async (name) => {
    const migration: Migration = await import(new URL(`${name}.ts`, FOLDER).href)
    return [name, migration] as const
  })
  return Object.fromEntries(await Promise.all(entries))
}
