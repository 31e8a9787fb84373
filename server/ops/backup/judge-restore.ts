import { text } from 'node:stream/consumers'
import type pg from 'pg'
import type { Config } from '#platform/config.ts'
import { findMasterKeys, keyFile, parseKeys } from '#platform/crypto/master-key.ts'
import { type Keys, keyId } from '#platform/crypto/secret-box.ts'
import type { Contents } from './format.ts'
import type { BackupReader } from './read-file.ts'
import { compareSchemas } from './schema-version.ts'

// What is looked at before anything is changed.

/** Throws when this Gantry cannot read the file's tables. */
export function assertKnownSchema(contents: Contents, known: string[]): void {
  const fit = compareSchemas(contents.schema, known)
  switch (fit.kind) {
    case 'fits':
      return
    case 'newer':
      throw new Error(
        `the backup was made by a newer Gantry (${contents.gantry}, tables as of ${contents.schema.at(-1)}): restore it with that version or a later one`,
      )
    case 'foreign':
      throw new Error(
        'the backup was made by a Gantry whose tables have another history than those of this one',
      )
  }
}

/** Throws unless the database is empty, or has Gantry's tables and nobody in them. */
export async function assertNothingThere(client: pg.Client, contents: Contents): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    "select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'v')",
  )
  const tables = rows.map((row) => row.name)
  if (tables.length === 0) return
  if (!tables.includes('users') || !tables.includes('schema_migrations')) {
    throw new Error(`the database holds tables that are not Gantry's (${tables[0]}): give it one of its own`)
  }
  const users = await client.query('select from users limit 1')
  if (users.rowCount !== 0) {
    throw new Error(
      'there is a Gantry with users here already, and a restore never replaces one: give a new GANTRY_HOME or the DATABASE_URL of an empty database, or move the old home away',
    )
  }
  const migrations = await client.query<{ name: string }>('select name from schema_migrations order by name')
  const present = migrations.rows.map((row) => row.name)
  if (present.length > contents.schema.length) {
    throw new Error(
      'the tables here are newer than those of the backup: give an empty database or a new home',
    )
  }
}

export type KeyPlan =
  /** The keys are here, and fit. */
  | { kind: 'present' }
  /** The file brings them. */
  | { kind: 'bring'; keys: Keys }
  /** Somebody has to bring them before the next start. */
  | { kind: 'missing' }

/** Throws when there is a key here that cannot open what the backup holds. */
export async function planKey(
  backup: BackupReader,
  config: Pick<Config, 'home' | 'secretKey'>,
): Promise<KeyPlan> {
  const { key, key_ids } = backup.contents
  const keys = await findMasterKeys({ home: config.home, fromEnvironment: config.secretKey })
  if (keys) {
    const present = keys.map((one) => keyId(one).toString('hex'))
    if (key_ids.every((id) => present.includes(id))) return { kind: 'present' }
    const place = config.secretKey === undefined ? keyFile(config.home) : 'GANTRY_SECRET_KEY'
    throw new Error(
      `${place} does not hold what the secrets in this backup were sealed with (${key_ids.join(' and ')}): give the key of the Gantry that was backed up`,
    )
  }
  if (key === null) return { kind: 'missing' }
  return { kind: 'bring', keys: parseKeys(await text(backup.read(key)), 'the key in the backup') }
}
