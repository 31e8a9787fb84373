import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { Kysely, PostgresDialect, type Transaction } from 'kysely'
import type pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import type { Tables } from '#platform/database/tables.ts'
import { inPublic, listGuards, listTables, quoted } from './catalogue.ts'
import type { Contents } from './format.ts'
import { countLines, createProgress } from './progress.ts'
import type { BackupReader } from './read-file.ts'
import { sampleAddress } from './sample-repository.ts'
import { BRING_JOBS_BACK, COPY_SAVED_JOBS, CREATE_SAVED_JOBS, UNKNOWN_JOBS } from './saved-jobs.ts'
import { migrateTo } from './schema-version.ts'

export type RestoreInput = {
  backup: BackupReader
  home: string
  /** Ours, in their order. */
  migrations: string[]
  say: (message: string) => void
  signal: AbortSignal
  /** Runs when every row is in, and before anybody can see one. */
  beforeCommit: () => Promise<void>
}

/**
 * Fills an empty database in one transaction: tables as they were when the backup was made, its rows, and then all
 * that was changed about tables since. The schema of the queue must be there.
 */
export async function restoreBackup(client: pg.Client, wish: RestoreInput): Promise<void> {
  const { contents } = wish.backup
  await inTransaction(client, async (trx) => {
    await migrateTo(trx, contents.schema.at(-1)!)
    // Migrations write rows too; what hangs on those is settled before tables are changed again.
    await client.query('set constraints all immediate')
    assertSameTables(contents, await listTables(client))
    const guards = await listGuards(client)
    for (const statement of guards.remove) await client.query(statement)
    await loadTables(client, wish)
    await setSequences(client, contents)
    // Brings foreign keys back, and with them the proof that every row has what it leans on.
    for (const statement of guards.restore) await client.query(statement)
    await loadJobs(client, wish)
    await migrateTo(trx, wish.migrations.at(-1)!)
    await moveSample(trx, contents.home, wish.home)
    wish.signal.throwIfAborted()
    await wish.beforeCommit()
  })
  await client.query('analyze')
}

/** The migrator wants Kysely, COPY wants the bare connection; both must be in the same transaction. */
async function inTransaction(
  client: pg.Client,
  work: (trx: Transaction<Tables>) => Promise<void>,
): Promise<void> {
  const connection = Object.assign(client, { release: () => {} })
  const pool = { connect: async () => connection, end: async () => {} }
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool: pool as never }) })
  await db.transaction().execute(work)
}

/** Names come from a file, and end up in statements: only those that the database has itself are used. */
function assertSameTables(contents: Contents, here: { name: string; columns: string[] }[]): void {
  const shape = (tables: { name: string; columns: string[] }[]) =>
    JSON.stringify(tables.map(({ name, columns }) => [name, [...columns].sort()]).sort())
  if (shape(contents.tables) !== shape(here)) {
    throw new Error('the tables in the backup are not those that its version of Gantry has')
  }
}

async function loadTables(client: pg.Client, { backup, say, signal }: RestoreInput): Promise<void> {
  const { tables } = backup.contents
  await client.query(`truncate ${tables.map(({ name }) => inPublic(name)).join(', ')}`)
  for (const { name, columns, rows, section } of tables) {
    const into = `copy ${inPublic(name)} (${columns.map(quoted).join(', ')}) from stdin`
    await load(client, { name, rows, into, source: backup.read(section) }, say, signal)
  }
}

async function loadJobs(client: pg.Client, { backup, say, signal }: RestoreInput): Promise<void> {
  const { rows, section } = backup.contents.jobs
  await client.query(CREATE_SAVED_JOBS)
  await load(client, { name: 'jobs', rows, into: COPY_SAVED_JOBS, source: backup.read(section) }, say, signal)
  const unknown = await client.query<{ name: string; jobs: number }>(UNKNOWN_JOBS)
  for (const { name, jobs } of unknown.rows) {
    say(`  left out: ${jobs} of the job ${JSON.stringify(name)}, which this version does not have`)
  }
  // Nobody was promised anything here yet.
  await client.query('delete from queue.job')
  await client.query(BRING_JOBS_BACK)
}

async function load(
  client: pg.Client,
  { name, rows, into, source }: { name: string; rows: number; into: string; source: Readable },
  say: RestoreInput['say'],
  signal: AbortSignal,
): Promise<void> {
  const progress = createProgress(name, say)
  const copy = client.query(copyFrom(into))
  await pipeline(
    source,
    async function* (chunks: AsyncIterable<Buffer>) {
      for await (const chunk of chunks) {
        progress.add(countLines(chunk))
        yield chunk
      }
    },
    copy,
    { signal },
  )
  progress.end()
  if (copy.rowCount !== rows) {
    throw new Error(`the backup promises ${rows} rows of ${name} and holds ${copy.rowCount}`)
  }
}

async function setSequences(client: pg.Client, { sequences }: Contents): Promise<void> {
  // Unlike setval, this is undone with the transaction.
  for (const { name, next } of sequences) {
    await client.query(`alter sequence ${inPublic(name)} restart with ${BigInt(next)}`)
  }
}

/** The sample's repository came along to the new home. */
async function moveSample(trx: Transaction<Tables>, from: string, to: string): Promise<void> {
  if (from === to) return
  await trx
    .updateTable('applications')
    .set({ repository: sampleAddress(to) })
    .where('repository', '=', sampleAddress(from))
    .execute()
}
