import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Database } from '#platform/database/connect.ts'

export type Patience = {
  /** How long a value may lie between being sealed and the transaction that stores it. */
  settleMs: number
  /** How long transactions may take to end. Those of Gantry end within a minute. */
  totalMs: number
}

/**
 * Resolves when everything that was sealed before this call is in the database, or never will be: what was sealed a
 * moment ago has begun its transaction by the time that we look, and those transactions have ended. Commands
 * beside the service (`gantry maintenance`) read for long, and store nothing sealed.
 */
export async function olderWorkEnded(db: Database, patience: Patience, signal: AbortSignal): Promise<void> {
  await pause(patience.settleMs, undefined, { signal })
  const { rows } = await sql<{ since: string }>`select clock_timestamp()::text as since`.execute(db)
  const { since } = rows[0]!
  const deadline = performance.now() + patience.totalMs
  while (await hasOlderWork(db, since)) {
    if (performance.now() > deadline) {
      throw new Error('transactions in the database do not end: run this again when they have')
    }
    await pause(100, undefined, { signal })
  }
}

async function hasOlderWork(db: Database, since: string): Promise<boolean> {
  const { rows } = await sql`
    select from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'
      and xact_start < ${since}::timestamptz and application_name <> 'gantry maintenance'
    limit 1`.execute(db)
  return rows.length > 0
}
