import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { type ConnectionSettings, type OpenDatabase, openDatabase } from '#platform/database/connect.ts'
import { startEmbeddedPostgres } from '#platform/database/embedded/start.ts'
import { migrate } from '#platform/database/migrate.ts'
import { installQueue } from '#platform/queue/open-queue.ts'
import { type Child, startChild } from './child.ts'

/** The API in a separate process. */
export type BenchServer = {
  pid: number
  port: number
  url: string
  setConstant(text: string): Promise<void>
  /** CPU time used since the process started. */
  cpuMs(): Promise<number>
  /** Its resident set. */
  memoryMib(): Promise<number>
}

const TEMPLATE = 'bench_template'

/** A PostgreSQL with Gantry's settings, started when the first database is wanted, with a migrated one to copy. */
export type BenchPostgres = {
  createDatabase(name: string): Promise<ConnectionSettings>
  close(): Promise<void>
}

/** What benches run on: temporary folders, a PostgreSQL, servers. Closed together, except a PostgreSQL that it was given. */
export type Workbench = {
  makeFolder(): Promise<string>
  /** A new, migrated database on its PostgreSQL. */
  createDatabase(name: string): Promise<OpenDatabase>
  startServer(settings: ConnectionSettings): Promise<BenchServer>
  defer(clear: () => Promise<void>): void
  /** Where CPU profiles are written, if requested. */
  profileTo: string | undefined
  /** How many runs wait for approval; 0: none needs it. */
  atGate: number
  close(): Promise<void>
}

/** `settings`: further ones. */
export function openPostgres(settings: Record<string, string> = {}): BenchPostgres {
  const resources = new AsyncDisposableStack()
  let started: Promise<ConnectionSettings> | undefined
  let databases = 0

  async function start(): Promise<ConnectionSettings> {
    const home = await mkdtemp(join(tmpdir(), 'gantry-bench-'))
    resources.defer(() => rm(home, { recursive: true, force: true }))
    const server = await startEmbeddedPostgres({ home, settings })
    resources.defer(() => server.stop())
    const { connection } = server
    await runStatement(connection, `create database ${TEMPLATE}`)
    const template = openDatabase({ ...connection, database: TEMPLATE }, { max: 2, onIdleError: () => {} })
    await migrate(template.db)
    await installQueue(template.settings)
    await template.close()
    await runStatement(connection, `alter database ${TEMPLATE} allow_connections false`)
    return connection
  }

  return {
    async createDatabase(name) {
      started ??= start()
      const connection = await started
      const database = `${name}_${++databases}`
      await runStatement(connection, `create database ${database} template ${TEMPLATE}`)
      return { ...connection, database }
    },
    close: () => resources.disposeAsync(),
  }
}

export function openWorkbench(
  options: { profileTo?: string | undefined; atGate?: number; postgres?: BenchPostgres | undefined } = {},
): Workbench {
  const resources = new AsyncDisposableStack()
  const postgres = options.postgres ?? openPostgres()
  if (!options.postgres) resources.defer(() => postgres.close())

  async function makeFolder(): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), 'gantry-bench-'))
    resources.defer(() => rm(folder, { recursive: true, force: true }))
    return folder
  }

  return {
    makeFolder,
    async createDatabase(name) {
      const settings = await postgres.createDatabase(name)
      const database = openDatabase(settings, { max: 2, onIdleError: () => {} })
      resources.defer(() => database.close())
      return database
    },
    async startServer(settings) {
      const logFile = join(await makeFolder(), 'server.log')
      const child = startChild('./server.ts', { logFile, profileTo: options.profileTo, asStarted: true })
      resources.defer(() => child.stop())
      const { port } = await opened(child, settings, logFile)
      return {
        pid: child.pid,
        port,
        url: `http://127.0.0.1:${port}`,
        setConstant: async (text) => void (await child.ask({ kind: 'set constant', text })),
        cpuMs: async () => (await child.ask<{ ms: number }>({ kind: 'cpu' })).ms,
        memoryMib: async () => (await child.ask<{ mib: number }>({ kind: 'memory' })).mib,
      }
    },
    defer: (clear) => resources.defer(clear),
    profileTo: options.profileTo,
    atGate: options.atGate ?? 0,
    close: () => resources.disposeAsync(),
  }
}

async function opened(
  child: Child,
  settings: ConnectionSettings,
  logFile: string,
): Promise<{ port: number }> {
  try {
    return await child.ask<{ port: number }>({ kind: 'open', settings })
  } catch (error) {
    throw new Error(`The server did not start: ${await readFile(logFile, 'utf8')}`, { cause: error })
  }
}

export async function runStatement(settings: ConnectionSettings, ...statements: string[]): Promise<void> {
  const client = new pg.Client(settings)
  await client.connect()
  try {
    for (const statement of statements) await client.query(statement)
  } finally {
    await client.end()
  }
}
