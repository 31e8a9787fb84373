import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Database } from '#platform/database/connect.ts'

/** Polls until `probe` returns a truthy value; errors of `probe` are thrown. */
export async function until<Result>(
  what: string,
  withinMs: number,
  probe: () => Promise<Result | false | undefined> | Result | false | undefined,
): Promise<Result> {
  const deadline = performance.now() + withinMs
  for (;;) {
    const found = await probe()
    if (found) return found
    if (performance.now() > deadline) throw new Error(`Not within ${withinMs / 1_000} s: ${what}`)
    await pause(30)
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
