import { sql } from 'kysely'
import type { Database } from '#platform/database/connect.ts'
import { OUTAGES, type OutageKind } from '#platform/database/outage-kinds.ts'
import { type Check, counted, failed, ok, warning } from './run-checks.ts'

/** `outage`: what is known to be wrong with the database. */
export type DatabaseDeps = { db: Database; poolState: () => PoolState; outage: OutageKind | null }

/** The connections of this process: at most, open, not in use; and requests that wait for one. */
export type PoolState = { max: number; open: number; idle: number; waiting: number }

/** Whether a request would have to wait for one. */
export const isExhausted = ({ max, open, idle }: PoolState) => open >= max && idle === 0

const SLOW_MS = 250
const SKEW_MS = 2_000
const LARGE_SKEW_MS = 60_000

export function databaseChecks({ db, poolState, outage }: DatabaseDeps): Check[] {
  return [
    {
      name: 'database',
      async run() {
        if (outage !== null) return failed(OUTAGES[outage].sentence, OUTAGES[outage].remedy)
        const pool = poolState()
        const { max, open, idle, waiting } = pool
        const { version, roundTripMs } = await ask(db)
        const used = `${open - idle} of ${max} connections are in use`
        const message = `PostgreSQL ${version} answers within ${Math.ceil(roundTripMs)} ms; ${used}.`
        if (waiting > 0)
          return warning(
            `${message} ${counted(waiting, 'request')} ${waiting === 1 ? 'waits' : 'wait'} for one.`,
            isExhausted(pool)
              ? OUTAGES.pool_exhausted.remedy
              : 'Raise GANTRY_DATABASE_CONNECTIONS if this persists.',
          )
        return roundTripMs > SLOW_MS
          ? warning(message, 'Move Gantry closer to its database, or look at the load of the database.')
          : ok(message)
      },
    },
    {
      name: 'clock',
      needsDatabase: true,
      async run() {
        const { time, skewMs } = await ask(db)
        const seconds = (Math.abs(skewMs) / 1_000).toFixed(1)
        const message = `The clocks of this machine and of the database differ by ${seconds} s (database: ${time}).`
        const remedy =
          'Synchronize both clocks with NTP: signatures, tokens and schedules depend on the time.'
        if (Math.abs(skewMs) > LARGE_SKEW_MS) return failed(message, remedy)
        return Math.abs(skewMs) > SKEW_MS
          ? warning(message, remedy)
          : ok('The clocks of this machine and of the database agree.')
      },
    },
  ]
}

async function ask(db: Database) {
  return bounded(db, async (trx) => {
    const began = performance.now()
    const before = Date.now()
    const { rows } = await sql<{ time: string; ms: number; version: string }>`
      select clock_timestamp() as time, extract(epoch from clock_timestamp())::float8 * 1000 as ms,
        split_part(current_setting('server_version'), ' ', 1) as version`.execute(trx)
    const { time, ms, version } = rows[0]!
    const roundTripMs = performance.now() - began
    // The answer was made at some time in between.
    return { time, version, roundTripMs, skewMs: ms - (before + roundTripMs / 2) }
  })
}

/** A statement that hangs gives its connection back. */
export function bounded<Result>(db: Database, work: (trx: Database) => Promise<Result>): Promise<Result> {
  return db.transaction().execute(async (trx) => {
    await sql`set local statement_timeout = '2s'`.execute(trx)
    return work(trx)
  })
}
