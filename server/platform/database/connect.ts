// The database: PostgreSQL, accessed through `pg` and typed by Kysely. Code that needs rows takes a `Database` (or a
// transaction) as its first argument; only this file opens a pool.
import { Kysely, type Transaction as KyselyTransaction, PostgresDialect, sql } from 'kysely'
import pg from 'pg'
import { parseExactly } from '#platform/exact-json.ts'
import { Client, type Config } from './client.ts'
import { nameExhaustion } from './pool-exhaustion.ts'
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
  const { max = 10, pipelineWithinMs } = options
  let failures = 0
  const poolConfig: pg.PoolConfig & Config = {
    ...settings,
    Client,
    application_name: 'gantry',
    session: options.session,
    queryTimeoutMs: options.queryTimeoutMs,
    onWait: options.onWait,
    acceptsReadOnly: options.acceptsReadOnly,
    pipeline: pipelineWithinMs !== undefined,
    onFailure: () => {
      failures += 1
    },
    max,
    // An outage must be detected in time to respond with 503, before the caller disconnects.
    connectionTimeoutMillis: 3_000,
    idleTimeoutMillis: options.idleMs ?? 60_000,
    types: { getTypeParser: getTypeParser as typeof pg.types.getTypeParser },
  }
  const pool = new pg.Pool(poolConfig)
  // An idle client that loses its server emits 'error'; without a listener that would end the process.
  pool.on('error', options.onIdleError)
  nameExhaustion(pool, settings.onError)
  // The next one goes to the server that takes writes by then, or knows the schema.
  pool.on('release', (_error, client) => {
    if (client instanceof Client && client.isSpent) void client.end()
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
