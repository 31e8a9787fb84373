import { Readable } from 'node:stream'
import type pg from 'pg'
import { to as copyTo } from 'pg-copy-streams'
import { encodeKeys } from '#platform/crypto/master-key.ts'
import { type Keys, keyId, keyIdOf } from '#platform/crypto/secret-box.ts'
import { SELECT_JOBS } from '#platform/queue/saved-jobs.ts'
import { type BackupWriter, createBackupFile } from './backup-file.ts'
import { inPublic, listSequences, listTables, quoted } from './catalog.ts'
import type { Contents, Section } from './format.ts'
import { createRowCounter } from './progress.ts'
import { bundleSample } from './sample-repository.ts'

export type BackupInput = {
  path: string
  home: string
  gantryVersion: string
  /** The installed keys, if any. */
  keys: Keys | null
  /** Puts them into the file. */
  withKey: boolean
  print: (message: string) => void
  signal: AbortSignal
}

export type Backup = { rows: number; bytes: number; keyIds: string[]; createdAt: string }

/**
 * A consistent snapshot, taken while others continue to write. Rows are streamed: no table is ever in memory as a whole.
 * When it throws, there is no file.
 */
export async function takeBackup(client: pg.Client, input: BackupInput): Promise<Backup> {
  await using writer = await createBackupFile(input.path, input.signal)
  await client.query('begin isolation level repeatable read, read only')
  const contents: Contents = {
    gantry: input.gantryVersion,
    schema: await readSchema(client),
    created_at: await readTime(client),
    home: input.home,
    key_ids: await readKeyIds(client, input),
    tables: await addTables(client, writer, input),
    jobs: await addRows(client, writer, { name: 'jobs', select: SELECT_JOBS }, input.print),
    sequences: await listSequences(client),
    sample_repository: await addSample(writer, input),
    key: await addKey(writer, input),
  }
  await client.query('commit')
  const bytes = await writer.finish(contents)
  const rows = contents.tables.reduce((sum, table) => sum + table.rows, contents.jobs.rows)
  return { rows, bytes, keyIds: contents.key_ids, createdAt: contents.created_at }
}

async function readSchema(client: pg.Client): Promise<string[]> {
  const known = await client.query("select to_regclass('public.schema_migrations') is not null as known")
  if (!known.rows[0].known)
    throw new Error('no Gantry schema found: Gantry has never been started on this database')
  const { rows } = await client.query<{ name: string }>('select name from schema_migrations order by name')
  return rows.map((row) => row.name)
}

async function readTime(client: pg.Client): Promise<string> {
  const { rows } = await client.query<{ now: Date }>('select now()')
  return rows[0]!.now.toISOString()
}

/**
 * During an unfinished rotation the database has values sealed with each of the installed keys. An installed key that
 * does not open this database belongs to another one.
 */
async function readKeyIds(client: pg.Client, { keys, withKey }: BackupInput): Promise<string[]> {
  const { rows } = await client.query<{ sealed: Buffer }>('select sealed from key_check')
  const needed = rows.flatMap(({ sealed }) => keyIdOf(sealed)?.toString('hex') ?? [])
  const installed = (keys ?? []).map((key) => keyId(key).toString('hex'))
  const matches = needed.every((id) => installed.includes(id))
  if (withKey && !matches)
    throw new Error(
      'the master key of this database is not installed here, so it cannot be added to the file',
    )
  return matches ? installed : needed
}

async function addTables(
  client: pg.Client,
  writer: BackupWriter,
  { print }: BackupInput,
): Promise<Contents['tables']> {
  const tables: Contents['tables'] = []
  for (const { name, columns } of await listTables(client)) {
    const select = `select ${columns.map(quoted).join(', ')} from ${inPublic(name)}`
    tables.push({ name, columns, ...(await addRows(client, writer, { name, select }, print)) })
  }
  return tables
}

async function addRows(
  client: pg.Client,
  writer: BackupWriter,
  { name, select }: { name: string; select: string },
  print: BackupInput['print'],
): Promise<{ rows: number; section: Section }> {
  const counter = createRowCounter(name, print)
  const copy = client.query(copyTo(`copy (${select}) to stdout`))
  const section = await writer.add(copy, counter.count)
  return { rows: counter.rows(), section }
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
