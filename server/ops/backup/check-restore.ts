import { text } from 'node:stream/consumers'
import type pg from 'pg'
import type { Config } from '#platform/config.ts'
import { findMasterKeys, keyFile, parseKeys } from '#platform/crypto/master-key.ts'
import { type Keys, keyId } from '#platform/crypto/secret-box.ts'
import type { BackupReader } from './backup-file.ts'
import type { Contents } from './format.ts'

// What is checked before anything is changed.

/** Throws when this version cannot read the file's tables. */
export function assertKnownSchema({ schema, gantry }: Contents, known: string[]): void {
  const compared = compareSchemas(schema, known)
  if (compared === 'newer')
    throw new Error(
      `the backup was made by a newer Gantry (${gantry}, schema ${schema.at(-1)}): restore it with that version or a later one`,
    )
  if (compared === 'unrelated')
    throw new Error('the backup was made by a Gantry with a different migration history')
}

/** Whether tables with these migrations can be migrated to ours. Pure. */
export function compareSchemas(theirs: string[], ours: string[]): 'compatible' | 'newer' | 'unrelated' {
  const common = Math.min(theirs.length, ours.length)
  if (theirs.length === 0 || theirs.slice(0, common).some((name, index) => name !== ours[index]))
    return 'unrelated'
  return theirs.length > ours.length ? 'newer' : 'compatible'
}

/** Throws unless the database is empty, or has Gantry's tables without users. */
export async function assertEmpty(client: pg.Client, contents: Contents): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    "select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'v')",
  )
  const tables = rows.map((row) => row.name)
  if (tables.length === 0) return
  if (!tables.includes('users') || !tables.includes('schema_migrations')) {
    throw new Error(`the database contains tables of another program (${tables[0]}): use a separate database`)
  }
  const users = await client.query('select from users limit 1')
  if (users.rowCount !== 0) {
    throw new Error(
      'this Gantry already has users, and a restore never replaces them: set GANTRY_HOME to a new folder or DATABASE_URL to an empty database, or move the old home away',
    )
  }
  const migrations = await client.query<{ name: string }>('select name from schema_migrations order by name')
  const present = migrations.rows.map((row) => row.name)
  if (present.length > contents.schema.length) {
    throw new Error(
      'the tables in this database are newer than those of the backup: use an empty database or a new home',
    )
  }
}

export type KeyPlan =
  /** The installed keys open the backup. */
  | { kind: 'present' }
  /** The file contains them. */
  | { kind: 'included'; keys: Keys }
  /** They must be provided before the next start. */
  | { kind: 'missing' }

/** Throws when the installed key cannot open the secrets of the backup. */
export async function planKey(
  backup: BackupReader,
  config: Pick<Config, 'home' | 'secretKey'>,
): Promise<KeyPlan> {
  const { key, key_ids } = backup.contents
  const keys = await findMasterKeys({ home: config.home, fromEnvironment: config.secretKey })
  if (keys) {
    const present = keys.map((one) => keyId(one).toString('hex'))
    if (key_ids.every((id) => present.includes(id))) return { kind: 'present' }
    const source = config.secretKey === undefined ? keyFile(config.home) : 'GANTRY_SECRET_KEY'
    throw new Error(
      `${source} does not contain the key that sealed the secrets in this backup (${key_ids.join(' and ')}): provide the key of the Gantry that was backed up`,
    )
  }
  if (key === null) return { kind: 'missing' }
  return { kind: 'included', keys: parseKeys(await text(backup.read(key)), 'the key in the backup') }
}
