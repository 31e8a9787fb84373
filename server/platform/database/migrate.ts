import { readdir } from 'node:fs/promises'
import type { Kysely } from 'kysely'
import { type Migration, Migrator } from 'kysely/migration'
import type { Database } from './connect.ts'
import type { Tables } from './tables.ts'

const FOLDER = new URL('./migrations/', import.meta.url)

/**
 * Migrates to the latest schema, all files in one transaction. Any number of processes may call this concurrently:
 * the first takes a lock in the database, the others wait for it and find nothing left to do.
 */
export async function migrate(db: Database): Promise<void> {
  const { error, results } = await createMigrator(db).migrateToLatest()
  if (!error) return
  const failed = results?.find((one) => one.status === 'Error')
  const where = failed ? `Migration ${failed.migrationName} failed` : 'The database could not be migrated'
  throw new Error(`${where}: ${error instanceof Error ? error.message : String(error)}`, { cause: error })
}

/** Runs in the caller's transaction when given one. */
export function createMigrator(db: Kysely<Tables>): Migrator {
  return new Migrator({
    db,
    provider: { getMigrations: readMigrations },
    migrationTableName: 'schema_migrations',
    migrationLockTableName: 'schema_migrations_lock',
  })
}

/** In order. */
export async function migrationNames(): Promise<string[]> {
  const files = (await readdir(FOLDER)).filter((name) => /^\d{4}-.*\.ts$/.test(name)).sort()
  return files.map((file) => file.slice(0, -'.ts'.length))
}

async function readMigrations(): Promise<Record<string, Migration>> {
  const entries = (await migrationNames()).map(async (name) => {
    const migration: Migration = await import(new URL(`${name}.ts`, FOLDER).href)
    return [name, migration] as const
  })
  return Object.fromEntries(await Promise.all(entries))
}
