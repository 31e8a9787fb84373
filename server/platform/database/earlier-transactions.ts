import { setTimeout as pause } from 'node:timers/promises'
import { type RawBuilder, sql } from 'kysely'
import type { Database } from './connect.ts'

// Which transactions of Gantry are still running. From PostgreSQL 17 on they are limited to a minute; before that
// nothing limits them, so code that relies on their end asks. Transactions of other roles are invisible, and write
// nothing of ours; commands next to the service (`gantry maintenance`) only read.

const RUNNING = sql`
  from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
    and backend_type = 'client backend' and application_name <> 'gantry maintenance' and xact_start is not null`

/** When the oldest running transaction began; null when none runs. An expression. */
export const oldestTransaction: RawBuilder<string | null> = sql`(select min(xact_start) ${RUNNING})`

/**
 * Resolves with true when every transaction that was running at the time of the call has ended, and with false when
 * one of them has not after `withinMs`.
 */
export async function earlierTransactionsEnd(
  db: Database,
  { withinMs, signal }: { withinMs: number; signal?: AbortSignal },
): Promise<boolean> {
  const { rows } = await sql<{ since: string }>`select clock_timestamp()::text as since`.execute(db)
  const { since } = rows[0]!
  const deadline = performance.now() + withinMs
  for (;;) {
    const earlier = await sql`select ${RUNNING} and xact_start < ${since}::timestamptz limit 1`.execute(db)
    if (earlier.rows.length === 0) return true
    if (performance.now() > deadline) return false
    await pause(100, undefined, { signal })
  }
}
