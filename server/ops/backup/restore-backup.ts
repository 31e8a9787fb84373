import { pipeline } from 'node:stream/promises'
import { Kysely, PostgresDialect } from 'kysely'
import type pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import type { Transaction } from '#platform/database/connect.ts'
import { migrateWithin } from '#platform/database/migrate.ts'
import type { Tables } from '#platform/database/tables.ts'
import { COPY_SAVED_JOBS, CREATE_SAVED_JOBS, RESTORE_JOBS, UNKNOWN_JOBS } from '#platform/queue/saved-jobs.ts'
import { assertReferences } from './assert-references.ts'
import type { BackupReader } from './backup-file.ts'
import { inPublic, listConstraints, listTables, quoted } from './catalog.ts'
import type { Contents, Section } from './format.ts'
import { createRowCounter } from './progress.ts'
import { sampleUrl } from './sample-repository.ts'

export type RestoreInput = {
  backup: BackupReader
  home: string
  /** Ours, in order. */
  migrations: string[]
  print: (message: string) => void
  signal: AbortSignal
  /** Runs when every row is loaded, before any is visible. */
  beforeCommit: () => Promise<void>
}

/**
 * Fills an empty database in one transaction: the tables of the backup's version, its rows, and then all later
 * migrations. The schema of the queue must exist.
 */
export async function restoreBackup(client: pg.Client, input: RestoreInput): Promise<void> {
  const { contents } = input.backup
  await inTransaction(client, async (trx) => {
    await migrateWithin(trx, contents.schema.at(-1)!)
    // Migrations write rows too: check their deferred constraints before tables are altered again.
    await client.query('set constraints all immediate')
    assertSameTables(contents, await listTables(client))
    const constraints = await listConstraints(client)
    for (const statement of constraints.remove) await client.query(statement)
    await loadTables(client, input)
    await setSequences(client, contents)
    // Recreates foreign keys, which verifies every reference.
    for (const statement of constraints.restore) await client.query(statement)
    await loadJobs(client, input)
    await migrateWithin(trx, input.migrations.at(-1)!)
    await assertReferences(client)
    await moveSample(trx, contents.home, input.home)
    input.signal.throwIfAborted()
    await input.beforeCommit()
  })
  await client.query('analyze')
}

/** The migrator needs Kysely, COPY needs the plain connection; both must use the same transaction. */
async function inTransaction(client: pg.Client, work: (trx: Transaction) => Promise<void>): Promise<void> {
  const connection = Object.assign(client, { release: () => {} })
  const pool = { connect: async () => connection, end: async () => {} }
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool: pool as never }) })
  await db.transaction().execute(work)
}

/** Names from the file become part of statements: only those that the database has are used. */
function assertSameTables(contents: Contents, here: { name: string; columns: string[] }[]): void {
  const shape = (tables: { name: string; columns: string[] }[]) =>
    JSON.stringify(tables.map(({ name, columns }) => [name, [...columns].sort()]).sort())
  if (shape(contents.tables) !== shape(here)) {
    throw new Error('the tables in the backup do not match its version of Gantry')
  }
}

async function loadTables(client: pg.Client, input: RestoreInput): Promise<void> {
  const { tables } = input.backup.contents
  await client.query(`truncate ${tables.map(({ name }) => inPublic(name)).join(', ')}`)
  for (const { name, columns, rows, section } of tables) {
    const into = `copy ${inPublic(name)} (${columns.map(quoted).join(', ')}) from stdin`
    await load(client, input, { name, rows, into, section })
  }
}

async function loadJobs(client: pg.Client, input: RestoreInput): Promise<void> {
  await client.query(CREATE_SAVED_JOBS)
  await load(client, input, { name: 'jobs', into: COPY_SAVED_JOBS, ...input.backup.contents.jobs })
  const unknown = await client.query<{ name: string; jobs: number }>(UNKNOWN_JOBS)
  for (const { name, jobs } of unknown.rows) {
    input.print(`  skipped: ${jobs} of the job ${JSON.stringify(name)}, which this version does not have`)
  }
  await client.query(RESTORE_JOBS)
}

async function load(
  client: pg.Client,
  { backup, print, signal }: RestoreInput,
  { name, rows, into, section }: { name: string; rows: number; into: string; section: Section },
): Promise<void> {
  const counter = createRowCounter(name, print)
  const copy = client.query(copyFrom(into))
  await pipeline(backup.read(section), counter.count, copy, { signal })
  if (copy.rowCount !== rows) {
    throw new Error(`the backup should have ${rows} rows of ${name}, but has ${copy.rowCount}`)
  }
}

async function setSequences(client: pg.Client, { sequences }: Contents): Promise<void> {
  // Unlike setval, this is rolled back with the transaction.
  for (const { name, next } of sequences) {
    await client.query(`alter sequence ${inPublic(name)} restart with ${BigInt(next)}`)
  }
}

/** The sample repository moved to the new home. */
async function moveSample(trx: Transaction, from: string, to: string): Promise<void> {
  if (from === to) return
  await trx
    .updateTable('applications')
    .set({ repository: sampleUrl(to) })
    .where('repository', '=', sampleUrl(from))
    .execute()
}
