import { sql } from 'kysely'
import type { Database } from '#platform/database/connect.ts'
import type { Retention } from '#platform/database/tables.ts'
import { loadPolicies } from './policy.ts'
import { removeOldLogs } from './remove-logs.ts'
import { removeOldBodies, removeOldRequests } from './remove-requests.ts'
import { removeOldRuns } from './runs-by-age.ts'
import { removeSurplusRuns } from './runs-by-number.ts'
import { createThrottle } from './throttle.ts'

export type PruneOptions = {
  defaults: Retention
  keepBodiesDays: number
  /** Stops between two batches. */
  signal: AbortSignal
  /** After this long the rest is left to the next pass. */
  maxMs?: number
}

type Removed = { runs: number; logs: number; requests: number; bodies: number }

/** One pass over everything that has a limit. Each environment's part is counted as soon as it is done. */
export async function pruneOldData(db: Database, options: PruneOptions): Promise<Removed> {
  const { defaults, keepBodiesDays, signal, maxMs = 8 * 60_000 } = options
  const throttle = createThrottle({ signal, untilMs: performance.now() + maxMs })
  const total: Removed = { runs: 0, logs: 0, requests: 0, bodies: 0 }
  const count = async (kind: keyof Removed, removed: number) => {
    total[kind] += removed
    if (removed > 0)
      await sql`update retention_totals set ${sql.ref(kind)} = ${sql.ref(kind)} + ${removed}::bigint`.execute(
        db,
      )
  }
  const policies = await loadPolicies(db, defaults)
  await count('runs', await removeOldRuns(db, policies, throttle))
  for (const policy of policies) {
    await count('runs', await removeSurplusRuns(db, policy, throttle))
    await count('logs', await removeOldLogs(db, policy, throttle))
    await count('requests', await removeOldRequests(db, policy, throttle))
  }
  await count('bodies', await removeOldBodies(db, keepBodiesDays, throttle))
  if (!throttle.isOver()) await sql`update retention_totals set finished_at = now()`.execute(db)
  return total
}

/** What was removed since the installation began, and when a pass last reached its end. For the metrics. */
export async function readRetentionTotals(db: Database): Promise<Removed & { finished_at: string | null }> {
  return db
    .selectFrom('retention_totals')
    .select(['runs', 'logs', 'requests', 'bodies', 'finished_at'])
    .executeTakeFirstOrThrow()
}
