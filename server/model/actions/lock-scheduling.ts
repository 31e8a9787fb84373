import { sql } from 'kysely'
import type { Transaction } from '#platform/database/connect.ts'
import { RELEASE_WHEN_SILENT } from '#platform/database/release-when-silent.ts'

/**
 * Taken before any run of these environments moves, or what holds them changes, and kept until the transaction ends. The
 * moves of one environment are serialized, so no two transactions count the same free slot.
 */
export async function lockScheduling(trx: Transaction, environmentIds: readonly number[]): Promise<void> {
  for (const id of [...new Set(environmentIds)].sort((a, b) => a - b)) await lockEnvironment(trx, id)
}

/** Returns the time at which it got the lock. */
export async function lockEnvironment(trx: Transaction, id: number): Promise<string> {
  const { rows } = await sql<{ at: string }>`
    with locked as materialized (
      select pg_advisory_xact_lock(hashtextextended('scheduling ' || ${id}::bigint, 0)), ${RELEASE_WHEN_SILENT}
    )
    select clock_timestamp()::timestamptz(3) as at from locked`.execute(trx)
  return rows[0]!.at
}
