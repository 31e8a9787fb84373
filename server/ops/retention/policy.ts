// The retention room: removes what is older than people want to keep. A job calls `pruneOldData`; it works in small batches
// and finds everything through an index, so that calls and runs do not notice it.
import { sql } from 'kysely'
import type { Config } from '#platform/config.ts'
import type { Database } from '#platform/database/connect.ts'
import type { Retention } from '#platform/database/tables.ts'

export function defaultRetention(config: Config): Retention {
  return {
    runs_days: config.retentionRunsDays,
    runs_per_pipeline: config.retentionRunsPerPipeline,
    logs_days: config.retentionLogsDays,
    requests_days: config.retentionRequestsDays,
  }
}

export type EnvironmentPolicy = { environmentId: number; retention: Retention }

/** Of all environments, removed ones included: their runs are still there. Without those that keep everything. */
export async function loadPolicies(db: Database, defaults: Retention): Promise<EnvironmentPolicy[]> {
  const { rows } = await sql<{ id: number; retention: Retention | null }>`
    select id, retention from environments order by id`.execute(db)
  return rows
    .map(({ id, retention }) => ({ environmentId: id, retention: retention ?? defaults }))
    .filter(({ retention }) => Object.values(retention).some((limit) => limit !== null))
}
