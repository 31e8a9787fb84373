import { realpath } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import type { Config } from '#platform/config.ts'
import { Client } from '#platform/database/client.ts'
import type { ConnectionSettings } from '#platform/database/connect.ts'
import { provideSocketFolder } from '#platform/database/embedded/socket.ts'
import { startEmbeddedPostgres } from '#platform/database/embedded/start.ts'
import { preflight } from '#platform/database/preflight.ts'
import { WITHOUT_TIMEOUTS } from '#platform/database/session.ts'

/**
 * The database that `npm start` would use: the server of DATABASE_URL; the embedded one of a running Gantry; or the
 * embedded one, started for the duration of the command. A home without a database is rejected unless `create` is set.
 * `isHomeInUse`: Gantry is running on this home; of an external server that cannot be known.
 */
export async function reachDatabase(
  config: Pick<Config, 'home' | 'databaseUrl'>,
  options: { create: boolean; print: (message: string) => void },
) {
  if (config.databaseUrl !== undefined) {
    const settings: ConnectionSettings = { connectionString: config.databaseUrl }
    await preflight(settings, { warn: options.print })
    return { settings, isHomeInUse: false, [Symbol.asyncDispose]: async () => {} }
  }
  const data = await realpath(join(config.home, 'postgres')).catch(() => undefined)
  if (data === undefined && !options.create) {
    throw new Error(
      `there is no database in ${config.home}: set GANTRY_HOME or DATABASE_URL as for npm start`,
    )
  }
  const running = data && (await runningServer(data))
  if (running) return { settings: running, isHomeInUse: true, [Symbol.asyncDispose]: async () => {} }
  const embedded = await startEmbeddedPostgres({ home: config.home, print: options.print })
  return {
    settings: embedded.connection satisfies ConnectionSettings,
    isHomeInUse: false,
    [Symbol.asyncDispose]: () => embedded.stop(),
  }
}

async function runningServer(data: string): Promise<ConnectionSettings | undefined> {
  const { folder } = await provideSocketFolder(data)
  const settings = { host: folder, port: 5432, ssl: false, user: 'gantry', database: 'gantry' }
  const client = new pg.Client({ ...settings, connectionTimeoutMillis: 10_000 })
  client.on('error', () => {})
  try {
    await client.connect()
    return settings
  } catch (error) {
    const { code } = error as { code?: string }
    if (code === '28000') throw new Error('run this as the user that Gantry runs as', { cause: error })
    if (code === '57P03') throw new Error('Gantry is starting or stopping: try again in a moment')
    // No server, or the stale socket of a killed one.
    return undefined
  } finally {
    await client.end().catch(() => {})
  }
}

/** A connection without timeouts, for long-running work. Rows as text must mean the same wherever they are loaded. */
export async function connectForLongWork(settings: ConnectionSettings): Promise<pg.Client & AsyncDisposable> {
  const client = new Client({
    ...settings,
    application_name: 'gantry maintenance',
    connectionTimeoutMillis: 10_000,
    session: { ...WITHOUT_TIMEOUTS, extra_float_digits: '3', search_path: 'public' },
    // A backup may be taken from a standby.
    acceptsReadOnly: true,
    queryTimeoutMs: 0,
  })
  await client.connect()
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.end() })
}
