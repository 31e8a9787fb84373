import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { type ConnectionSettings, type OpenDatabase, openDatabase } from '#platform/database/connect.ts'
import { type EmbeddedPostgres, startEmbeddedPostgres } from '#platform/database/embedded/start.ts'
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

/** What benches run on: temporary folders, a PostgreSQL with Gantry's settings, servers. Closed together. */
export type Workbench = {
  makeFolder(): Promise<string>
  /** A new, migrated database on the one PostgreSQL of this run. */
  createDatabase(name: string): Promise<OpenDatabase>
  startServer(settings: ConnectionSettings): Promise<BenchServer>
  defer(clear: () => Promise<void>): void
  /** Where CPU profiles are written, if requested. */
  profileTo: string | undefined
  /** How many runs wait for approval; 0: none needs it. */
  atGate: number
  close(): Promise<void>
}

export function openWorkbench(options: { profileTo?: string; atGate?: number } = {}): Workbench {
  const resources = new AsyncDisposableStack()
  let postgres: Promise<EmbeddedPostgres> | undefined
  let databases = 0

  async function makeFolder(): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), 'gantry-bench-'))
    resources.defer(() => rm(folder, { recursive: true, force: true }))
    return folder
  }
  async function startPostgres(): Promise<EmbeddedPostgres> {
    const started = await startEmbeddedPostgres({ home: await makeFolder() })
    resources.defer(() => started.stop())
    return started
  }

  return {
    makeFolder,
    async createDatabase(name) {
      postgres ??= startPostgres()
      const { connection } = await postgres
      const own = `${name}_${++databases}`
      await runStatement(connection, `create database ${own}`)
      const database = openDatabase({ ...connection, database: own }, { max: 2, onIdleError: () => {} })
      resources.defer(() => database.close())
      await migrate(database.db)
      await installQueue(database.settings)
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
