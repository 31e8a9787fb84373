import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Database } from '#platform/database/connect.ts'

/** What has been waited for this long is asked for less often: many of these wait at the same time. */
const [SHORTEST_MS, LONGEST_MS, SHARE] = [30, 100, 0.1]

/** Polls until `probe` returns a truthy value; errors of `probe` are thrown. */
export async function until<Result>(
  what: string,
  withinMs: number,
  probe: () => Promise<Result | false | undefined> | Result | false | undefined,
): Promise<Result> {
  const beganAt = performance.now()
  for (;;) {
    const found = await probe()
    if (found) return found
    const waitedMs = performance.now() - beganAt
    if (waitedMs > withinMs) throw new Error(`Not within ${withinMs / 1_000} s: ${what}`)
    await pause(Math.min(Math.max(waitedMs * SHARE, SHORTEST_MS), LONGEST_MS))
  }
}

/** For conditions that say by themselves what they are about. */
export async function untilTrue(holds: () => Promise<boolean> | boolean, withinMs = 10_000): Promise<void> {
  await until(String(holds), withinMs, holds)
}

/** Until a transaction in this database, or so many of them, wait for a lock; PostgreSQL has no event for that. */
export async function untilLockWait(db: Database, count = 1): Promise<void> {
  await until('a transaction waits for a lock', 30_000, async () => {
    const { rows } = await sql`
      select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`.execute(
      db,
    )
    return rows.length >= count
  })
}
