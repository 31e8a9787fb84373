// The database: PostgreSQL, accessed through `pg` and typed by Kysely. Code that needs rows takes a `Database` (or a
// transaction) as its first argument; only this file opens a pool.

import { Kysely, type Transaction as KyselyTransaction, PostgresDialect, sql } from 'kysely'
import pg from 'pg'
import { parseExactly } from '#platform/exact-json.ts'
import { Client, type Config } from './client.ts'
import { POOL_EXHAUSTED } from './outage-kinds.ts'
import { assertWritable, WRITABILITY, type Writability } from './session.ts'
import { shareConnections } from './share-connections.ts'
import type { Tables } from './tables.ts'

export type Database = Kysely<Tables>
export type Transaction = KyselyTransaction<Tables>
/** Where to connect, and who hears of every statement and connection that fails. */
export type ConnectionSettings = pg.ClientConfig & Pick<Config, 'onError'>

export type OpenDatabase = ReturnType<typeof openDatabase>

// Ids stay far below 2^53, and timestamps are read in the form that the API shows. Columns of the type `json` hold what
// people wrote, to the letter; those of the type `jsonb` what Gantry reads.
const INT8_ARRAY = 1016
const readTexts = pg.types.getTypeParser(INT8_ARRAY as never) as (text: string) => string[]
const PARSERS: Record<number, (text: string) => unknown> = {
  20: Number, // int8
  114: parseExactly, // json
  [INT8_ARRAY]: (text) => readTexts(text).map(Number),
  1184: isoFromPostgres, // timestamptz
}
const getTypeParser = (oid: number, format?: 'text' | 'binary') =>
  (format !== 'binary' && PARSERS[oid]) || pg.types.getTypeParser(oid, format)

/**
 * '2026-11-15 02:06:07.12+00' (what a UTC session prints, in JSON with a T and +00:00) →
 * '2026-11-15T02:06:07.120Z'.
 */
export function isoFromPostgres(text: string): string {
  const fraction = text.slice(20, text.indexOf('+', 19))
  return `${text.slice(0, 10)}T${text.slice(11, 19)}.${fraction.padEnd(3, '0').slice(0, 3)}Z`
}

export function openDatabase(
  settings: ConnectionSettings,
  options: {
    max?: number
    /** Single statements are sent behind each other, up to this time apart: see share-connections.ts. */
    pipelineWithinMs?: number
    /** Connections that are idle for longer are closed. */
    idleMs?: number
    onIdleError: (error: Error) => void
  } & Pick<Config, 'session' | 'queryTimeoutMs' | 'onWait' | 'acceptsReadOnly'>,
) {
  const { max = 10, pipelineWithinMs, idleMs = 60_000, onIdleError, ...ofClients } = options
  let failures = 0
  const poolConfig: pg.PoolConfig & Config = {
    ...settings,
    Client,
    application_name: 'gantry',
    ...ofClients,
    pipeline: pipelineWithinMs !== undefined,
    onFailure: () => {
      failures += 1
    },
    max,
    // An outage must be detected in time to respond with 503, before the caller disconnects.
    connectionTimeoutMillis: 3_000,
    idleTimeoutMillis: idleMs,
    statements: new Map(),
    types: { getTypeParser: getTypeParser as typeof pg.types.getTypeParser },
  }
  const pool = new pg.Pool(poolConfig)
  // An idle client that loses its server emits 'error'; without a listener that would end the process.
  pool.on('error', onIdleError)
  nameExhaustion(pool, settings.onError)
  // The next one goes to the server that takes writes by then, or knows the schema.
  pool.on('release', (_error, client) => {
    if (client instanceof Client && client.isUnusable) void client.end()
  })
  const shared = pipelineWithinMs === undefined ? pool : shareConnections(pool, pipelineWithinMs)
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool: shared }) })
  // Kysely ends the pool only when it has used it.
  const close = async (): Promise<void> => {
    await db.destroy()
    if (!pool.ended) await pool.end()
  }
  /** The connections: at most, open, not in use; requests that wait for one; those that failed so far. */
  const poolState = () => ({
    max,
    open: pool.totalCount,
    idle: pool.idleCount,
    waiting: pool.waitingCount,
    failures,
  })
  return { db, pool, poolState, settings, close }
}

/** Throws an outage unless the database answers, and takes writes. */
export async function checkDatabase(db: Database): Promise<void> {
  const { rows } = await sql<Writability>`select ${sql.raw(WRITABILITY)}`.execute(db)
  assertWritable(rows[0]!)
}

type Callback = (error: Error | undefined, client?: pg.PoolClient, done?: () => void) => void
// What `pg` keeps in its pools, and its types do not mention.
type Internals = { _clients: pg.Client[] }

/**
 * Gives the error of a request that waited in vain its code if every connection is in use. Without the code, the error
 * means that connections could not be opened: they count as the pool's as soon as they are attempted.
 */
function nameExhaustion(pool: pg.Pool, onError?: (error: Error) => void): void {
  const connect = pool.connect.bind(pool)
  const examine = (error: Error): Error => {
    if (error.message !== 'timeout exceeded when trying to connect') return error
    const { _clients } = pool as unknown as Internals
    // A single connection is a reserved one, for quick statements: the server does not answer.
    const isInUse =
      _clients.length > 1 &&
      _clients.every((client) => client instanceof Client && client.session !== undefined)
    if (isInUse) Object.assign(error, { code: POOL_EXHAUSTED })
    onError?.(error)
    return error
  }
  const connectAndName = (callback?: Callback) =>
    callback
      ? connect((error, client, done) => callback(error && examine(error), client, done))
      : connect().catch((error: Error) => {
          throw examine(error)
        })
  pool.connect = connectAndName as typeof pool.connect
}
