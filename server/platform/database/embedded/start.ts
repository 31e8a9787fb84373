// The embedded PostgreSQL: a real server in GANTRY_HOME, reachable only through a private socket. This file is the
// entry point and keeps the server running; each file next to it handles one precondition of running a server:
//   lock (one Gantry per home) → data folder → account → binaries → leftovers of a killed run → server.

import { mkdir, realpath } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { Client } from 'pg'
import { chooseAccount } from './account.ts'
import { provideBinaries } from './binaries.ts'
import { createDatabaseFolder, findDatabaseFolder, writeAccessRules } from './data.ts'
import { lockHome } from './lock.ts'
import { capLog } from './log.ts'
import { launchServer, type Server, type ServerPlan } from './server.ts'
import { provideSocketFolder } from './socket.ts'

/** Usable as pg.ClientConfig. Port and ssl are explicit so that PGPORT and PGSSLMODE have no effect. */
export type PostgresConnection = { host: string; port: number; ssl: false; user: string; database: string }

export type EmbeddedPostgres = Awaited<ReturnType<typeof startEmbeddedPostgres>>

export type EmbeddedOptions = {
  /** GANTRY_HOME; created (0700) if absent. */
  home: string
  /** Additional PostgreSQL settings; they override ours. */
  settings?: Record<string, string>
  /** For tests: the folder of another version's binaries. */
  packageFolder?: string
  /** Prints a one-line message for the operator. */
  print?: (message: string) => void
  /** Called once initdb or the server runs: from then on this process has time for other work. */
  onLaunch?: () => void
}

const CONNECTION = { port: 5432, ssl: false, user: 'gantry', database: 'gantry' } as const
const HOUSEKEEPING_MS = 60_000
const MAX_BACKOFF_MS = 5_000

/**
 * Call it from the main thread: the kernel's parent-death signal, which stops the server after a kill -9, belongs to
 * the thread that started it.
 */
export async function startEmbeddedPostgres(options: EmbeddedOptions) {
  const { settings = {}, print = () => {}, onLaunch = () => {} } = options
  // Disposed in reverse order: by stop(), or here when a later part fails.
  await using resources = new AsyncDisposableStack()
  await mkdir(options.home, { recursive: true, mode: 0o700 })
  const home = await realpath(options.home)
  resources.defer(await lockHome(home))

  const binaries = await provideBinaries(home, options.packageFolder)
  const found = await findDatabaseFolder(home, binaries.major)
  const account = await chooseAccount(found)
  const data = found?.folder ?? (await createDatabaseFolder({ home, binaries, account, settings, onLaunch }))
  await writeAccessRules(data, account)
  const socket = await provideSocketFolder(data)
  resources.defer(() => socket.remove())

  const plan = { home, data, binaries, account, socketFolder: socket.folder, settings, print, onLaunch }
  const server = keepRunning(await launchServer(plan), plan)
  resources.defer(() => server.stop())
  const connection: PostgresConnection = { host: socket.folder, ...CONNECTION }
  await ensureDatabase(connection)

  const housekeeping = setInterval(() => {
    Promise.all([capLog(home), socket.keep()]).catch((error: Error) => print(error.message))
  }, HOUSEKEEPING_MS).unref()
  resources.defer(() => clearInterval(housekeeping))

  const owned = resources.move()
  let stopped: Promise<void> | undefined
  return {
    connection,
    /** The account that the server runs as. */
    uid: account.uid,
    /** Rolls back open transactions; resolves when the server has exited. Idempotent. */
    stop(): Promise<void> {
      stopped ??= owned.disposeAsync()
      return stopped
    },
  }
}

/** Restarts a server that exits unexpectedly, without limit: Gantry cannot work without its database. */
function keepRunning(first: Server, plan: ServerPlan): { stop(): Promise<void> } {
  const stopping = new AbortController()
  const { signal } = stopping
  let server = first

  const watch = async () => {
    let backoff = 0
    for (;;) {
      const since = performance.now()
      const reason = await server.ended
      if (signal.aborted) return
      plan.print(`PostgreSQL exited unexpectedly (${reason}); restarting it`)
      if (performance.now() - since > MAX_BACKOFF_MS) backoff = 0
      for (let launched = false; !launched; ) {
        await pause(backoff, undefined, { signal })
        backoff = Math.min(Math.max(backoff * 2, 100), MAX_BACKOFF_MS)
        try {
          server = await launchServer(plan, signal)
          launched = true
        } catch (error) {
          plan.print(
            `PostgreSQL could not be restarted, retrying in ${backoff} ms: ${(error as Error).message}`,
          )
        }
      }
    }
  }
  const watching = watch().catch((error) => {
    if (!signal.aborted) throw error
  })

  return {
    async stop() {
      stopping.abort()
      await server.stop()
      await watching
      // A launch that was in progress may have finished since.
      await server.stop()
    },
  }
}

async function ensureDatabase(connection: PostgresConnection): Promise<void> {
  const client = new Client({ ...connection, database: 'postgres' })
  // Without a listener a lost connection would end the process; the query fails anyway.
  client.on('error', () => {})
  try {
    await client.connect()
    const name = connection.database
    const { rowCount } = await client.query('select 1 from pg_database where datname = $1', [name])
    if (rowCount === 0) await client.query(`create database ${name}`)
  } finally {
    await client.end()
  }
}
