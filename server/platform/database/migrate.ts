import { setTimeout as delay } from 'node:timers/promises'
import { type Kysely, sql } from 'kysely'
import { compareReleases, VERSION } from '#platform/version.ts'
import { withQueryTimeout } from './client.ts'
import type { Database, Transaction } from './connect.ts'
import { lockTables } from './lock-tables.ts'
import { all } from './migrations/all.ts'
import { provideFunctions } from './older-servers.ts'
import { type Executed, oldestThatTolerates, pendingMigrations } from './schema.ts'
import { endIdleConnections } from './stale-statements.ts'

export type Migration = {
  // biome-ignore lint/suspicious/noExplicitAny: migrations know the tables of their time
  up(db: Kysely<any>): Promise<void>
  /** The oldest release whose code works with the schema that this migration leaves behind. */
  toleratedBy: string
  /** Every table that exists before and that it changes, indexes or refers to. */
  locks?: readonly string[]
}

/** Announces which release the schema is about to require. */
export const SCHEMA_CHANNEL = 'gantry_schema'

/** The lock that releases before 0.2.0 take as well. */
export const MIGRATION_LOCK = '3853314791062309107'

/** A migration that waits for a lock makes everybody behind it wait: it gives up soon, and tries again. */
const LOCK_TIMEOUT = '2s'
const LOCK_ATTEMPTS = 60
const LOCK_ERRORS = ['55P03', '40P01']

const FIRST_RELEASE = '0.1.0'

/** How long processes of older releases get to stop, once they know that they have to. */
const NOTICE_MS = 3_000

export type MigrateOptions = {
  /** As far as this migration and no further. */
  to?: string
  migrations?: Record<string, Migration>
  release?: string
  print?: (message: string) => void
}

/**
 * Migrates to the latest schema, each file in a transaction of its own, unless the database is empty. Any number of
 * processes may call this at the same time, and processes of older releases may be working: they are told first when
 * they have to stop.
 */
export function migrate(db: Database, options: MigrateOptions = {}): Promise<void> {
  return withQueryTimeout(0, () => migrateAll(db, options))
}

async function migrateAll(db: Database, options: MigrateOptions): Promise<void> {
  const { release = VERSION, print = () => {} } = options
  const names = options.migrations === undefined ? migrationNames() : Object.keys(options.migrations)
  const known = names.filter((name) => options.to === undefined || name <= options.to)
  await db.transaction().execute(async (trx) => {
    await lockMigrations(trx)
    await createBookkeeping(trx)
    await provideFunctions(trx)
  })
  const executed = await readExecuted(db)
  const migrations = options.migrations ?? (await load(pendingMigrations(executed, known, release)))
  await giveNotice(db, executed, migrations, known, release)
  let isMigrated = false
  for (let attempt = 1; ; ) {
    try {
      const isDone = await db
        .transaction()
        .execute(async (trx) => !(await migrateOnce(trx, { migrations, known, release, print })))
      if (isDone) break
      isMigrated = true
      attempt = 1
    } catch (error) {
      if (!LOCK_ERRORS.includes(codeOf(error)) || attempt === LOCK_ATTEMPTS) throw error
      if (attempt === 1) print(`${(error as Error).message}; trying again`)
      attempt += 1
      await delay(250 + Math.random() * 500)
    }
  }
  if (isMigrated && executed.length > 0) await endIdleConnections(db)
}

/** As far as this migration, in the caller's transaction. */
export async function migrateWithin(trx: Transaction, to: string): Promise<void> {
  await createBookkeeping(trx)
  await provideFunctions(trx)
  const pending = pendingMigrations(await readExecuted(trx), migrationNames(), VERSION)
  for (const [name, migration] of Object.entries(await load(pending.filter((name) => name <= to)))) {
    await run(trx, name, migration)
  }
}

/** In order. */
export function migrationNames(): string[] {
  return Object.keys(all)
}

/** A start that has nothing to migrate loads none. */
async function load(names: readonly string[]): Promise<Record<string, Migration>> {
  const known: Record<string, () => Promise<Migration>> = all
  const entries = names.map(async (name) => [name, await known[name]!()] as const)
  return Object.fromEntries(await Promise.all(entries))
}

export async function readExecuted(db: Database): Promise<Executed[]> {
  const { rows } = await sql<Executed>`select name, tolerated_by from schema_migrations`.execute(db)
  return rows
}

/**
 * The first one that is missing, or all of them in an empty database, where nobody waits for a lock. False when none is
 * missing.
 */
async function migrateOnce(
  trx: Transaction,
  { migrations, known, release, print }: Required<Omit<MigrateOptions, 'to'>> & { known: string[] },
): Promise<boolean> {
  await lockMigrations(trx)
  const executed = await readExecuted(trx)
  const pending = pendingMigrations(executed, known, release)
  if (pending.length === 0) return false
  await sql`select set_config('lock_timeout', ${LOCK_TIMEOUT}, true)`.execute(trx)
  for (const name of executed.length === 0 ? pending : pending.slice(0, 1)) {
    const migration = migrations[name]!
    await lockTables(trx, migration.locks ?? [], print)
    await run(trx, name, migration)
    await sql`select pg_notify(${SCHEMA_CHANNEL}, ${migration.toleratedBy})`.execute(trx)
  }
  return true
}

async function run(trx: Transaction, name: string, migration: Migration): Promise<void> {
  try {
    await migration.up(trx)
  } catch (error) {
    const { message } = error as Error
    throw Object.assign(new Error(`Migration ${name} failed: ${message}`, { cause: error }), {
      code: codeOf(error),
    })
  }
  await sql`insert into schema_migrations (name, timestamp, tolerated_by)
    values (${name}, ${new Date().toISOString()}, ${migration.toleratedBy})`.execute(trx)
}

/** One process at a time, for as long as it takes: the settings of the connection are for requests. */
async function lockMigrations(trx: Transaction): Promise<void> {
  await sql`select set_config(name, '0', true) from pg_settings
    where name in ('statement_timeout', 'transaction_timeout', 'idle_in_transaction_session_timeout', 'lock_timeout')
  `.execute(trx)
  await sql`select pg_advisory_xact_lock(${sql.raw(MIGRATION_LOCK)})`.execute(trx)
}

/** The table of releases before 0.2.0, and what it lacked. */
async function createBookkeeping(trx: Transaction): Promise<void> {
  await sql`create table if not exists schema_migrations (
    name varchar(255) primary key, timestamp varchar(255) not null, tolerated_by text)`.execute(trx)
  const { rows } = await sql`select from pg_attribute
    where attrelid = 'schema_migrations'::regclass and attname = 'tolerated_by'`.execute(trx)
  if (rows.length === 0) await sql`alter table schema_migrations add column tolerated_by text`.execute(trx)
}

/**
 * Before a migration that asks for a newer release than those before it: processes of older releases learn of it, and
 * get a moment to finish what they do. Nobody waits when no other process is connected.
 */
async function giveNotice(
  db: Database,
  executed: readonly Executed[],
  migrations: Record<string, Migration>,
  known: string[],
  release: string,
): Promise<void> {
  const pending = pendingMigrations(executed, known, release)
  const needed = oldestThatTolerates(pending.map((name) => ({ tolerated_by: migrations[name]!.toleratedBy })))
  const before = oldestThatTolerates(executed.filter((one) => one.tolerated_by !== null)) ?? FIRST_RELEASE
  if (needed === null || compareReleases(needed, before) <= 0) return
  const { rows } = await sql`select from pg_stat_activity
    where datname = current_database() and application_name = 'gantry listener'`.execute(db)
  if (rows.length === 0) return
  await sql`select pg_notify(${SCHEMA_CHANNEL}, ${needed})`.execute(db)
  await delay(NOTICE_MS)
}

function codeOf(error: unknown): string {
  return (error as { code?: string }).code ?? ''
}
