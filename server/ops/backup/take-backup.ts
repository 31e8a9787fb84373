import { Readable } from 'node:stream'
import type pg from 'pg'
import { to as copyTo } from 'pg-copy-streams'
import { encodeKeys } from '#platform/crypto/master-key.ts'
import { type Keys, keyId, keyIdOf } from '#platform/crypto/secret-box.ts'
import { inPublic, listSequences, listTables, quoted, type TableShape } from './catalogue.ts'
import type { Contents, Section } from './format.ts'
import { countLines, createProgress } from './progress.ts'
import { bundleSample } from './sample-repository.ts'
import { SELECT_JOBS } from './saved-jobs.ts'
import { type BackupWriter, createBackupFile } from './write-file.ts'

export type BackupInput = {
  path: string
  home: string
  gantryVersion: string
  /** Those at hand, as far as anybody knows. */
  keys: Keys | null
  /** Puts them into the file. */
  withKey: boolean
  say: (message: string) => void
  signal: AbortSignal
}

export type Backup = { rows: number; bytes: number; keyIds: string[] }

/**
 * All of it as of one moment, while others go on writing. Rows stream through: none of the tables is ever in
 * memory whole. When it throws, there is no file.
 */
export async function takeBackup(client: pg.Client, wish: BackupInput): Promise<Backup> {
  await using writer = await createBackupFile(wish.path, wish.signal)
  await client.query('begin isolation level repeatable read, read only')
  const contents: Contents = {
    gantry: wish.gantryVersion,
    schema: await readSchema(client),
    created_at: await readMoment(client),
    home: wish.home,
    key_ids: await readKeyIds(client, wish),
    tables: await addTables(client, writer, wish),
    jobs: await addRows(client, writer, { name: 'jobs', select: SELECT_JOBS }, wish.say),
    sequences: await listSequences(client),
    sample_repository: await addSample(writer, wish),
    key: await addKey(writer, wish),
  }
  await client.query('commit')
  const bytes = await writer.finish(contents)
  const rows = contents.tables.reduce((sum, table) => sum + table.rows, contents.jobs.rows)
  return { rows, bytes, keyIds: contents.key_ids }
}

async function readSchema(client: pg.Client): Promise<string[]> {
  const known = await client.query("select to_regclass('public.schema_migrations') is not null as known")
  if (!known.rows[0].known) throw new Error('this database holds no Gantry: it has not been started here yet')
  const { rows } = await client.query<{ name: string }>('select name from schema_migrations order by name')
  return rows.map((row) => row.name)
}

async function readMoment(client: pg.Client): Promise<string> {
  const { rows } = await client.query<{ now: Date }>('select now()')
  return rows[0]!.now.toISOString()
}

/**
 * With an unfinished rotation behind it the database holds values of every key at hand. A key at hand that does not
 * open this database is somebody else's.
 */
async function readKeyIds(client: pg.Client, { keys, withKey }: BackupInput): Promise<string[]> {
  const { rows } = await client.query<{ sealed: Buffer }>('select sealed from key_check')
  const needed = rows.flatMap(({ sealed }) => keyIdOf(sealed)?.toString('hex') ?? [])
  const atHand = (keys ?? []).map((key) => keyId(key).toString('hex'))
  const fits = needed.every((id) => atHand.includes(id))
  if (withKey && !fits)
    throw new Error('the master key of this database is not here, to be put into the file')
  return fits ? atHand : needed
}

async function addTables(
  client: pg.Client,
  writer: BackupWriter,
  { say }: BackupInput,
): Promise<Contents['tables']> {
  const tables: Contents['tables'] = []
  for (const table of await listTables(client)) {
    tables.push({ ...table, ...(await addRows(client, writer, { ...table, select: selecting(table) }, say)) })
  }
  return tables
}

function selecting({ name, columns }: TableShape): string {
  return `select ${columns.map(quoted).join(', ')} from ${inPublic(name)}`
}

async function addRows(
  client: pg.Client,
  writer: BackupWriter,
  { name, select }: { name: string; select: string },
  say: BackupInput['say'],
): Promise<{ rows: number; section: Section }> {
  const progress = createProgress(name, say)
  const copy = client.query(copyTo(`copy (${select}) to stdout`))
  const section = await writer.add(copy, (chunk) => progress.add(countLines(chunk)))
  progress.end()
  return { rows: progress.rows(), section }
}

async function addSample(writer: BackupWriter, { home, signal }: BackupInput): Promise<Section | null> {
  let section: Section | null = null
  await bundleSample(home, signal, async (bundle) => {
    section = await writer.add(bundle)
  })
  return section
}

async function addKey(writer: BackupWriter, { keys, withKey }: BackupInput): Promise<Section | null> {
  if (!withKey || !keys) return null
  return writer.add(Readable.from([Buffer.from(encodeKeys(keys))]))
}
