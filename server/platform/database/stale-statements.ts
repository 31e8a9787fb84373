// Statements that were prepared before a migration and no longer fit: PostgreSQL refuses to run them when the columns of
// their result have changed, on that connection forever.
import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Database } from './connect.ts'

const ATTEMPTS = 15
const PAUSE_MS = 100

/** Processes that are starting have younger ones, and must not lose them. */
const OLDER_THAN_S = 30

/**
 * Ends the connections that other processes have in their pools, so that they open new ones, which know the new schema.
 * Busy ones get a moment to become idle.
 */
export async function endIdleConnections(db: Database, olderThanS = OLDER_THAN_S): Promise<void> {
  const { rows: times } = await sql<{ before: string }>`
    select (clock_timestamp() - make_interval(secs => ${olderThanS}::float8))::text as before`.execute(db)
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const { rows } = await sql<{ ended: boolean }>`
      select case when state = 'idle' then pg_terminate_backend(pid) else false end as ended
      from pg_stat_activity a
      where datname = current_database() and usename = current_user and application_name = 'gantry'
        and pid <> pg_backend_pid() and backend_start < ${times[0]!.before}::timestamptz
        and not exists (select from pg_locks l where l.pid = a.pid and l.locktype = 'advisory')`.execute(db)
    if (rows.every(({ ended }) => ended)) return
    await delay(PAUSE_MS)
  }
}
