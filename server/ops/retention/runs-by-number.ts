import { sql } from 'kysely'
import { ANY_ID, newestInPartition } from '#model/actions/partition.ts'
import type { Database } from '#platform/database/connect.ts'
import { STATUSES } from '#platform/vocabulary.ts'
import type { EnvironmentPolicy } from './policy.ts'
import { isFinal, type Outcome, RUNS_AT_ONCE, removeUnlessNeeded, repeatWalk } from './remove-runs.ts'
import type { Throttle } from './throttle.ts'

const ENDED = ['completed', 'failed', 'skipped'] as const

/** Removes the runs of an environment that have ended, beyond the number that each of its pipelines keeps. */
export async function removeSurplusRuns(
  db: Database,
  { environmentId, retention: { runs_per_pipeline: number } }: EnvironmentPolicy,
  throttle: Throttle,
): Promise<number> {
  if (number === null) return 0
  const { rows: pipelines } = await sql<{ id: number }>`
    select id from pipelines where environment_id = ${environmentId} order by id desc`.execute(db)
  return repeatWalk(async (outcome) => {
    for (const { id: pipelineId } of pipelines) {
      const oldestKept = await oldestOfNewest(db, pipelineId, number)
      if (oldestKept === null) continue
      for (const status of ENDED) await removeFrom(db, { pipelineId, status, oldestKept }, throttle, outcome)
    }
  }, throttle.isOver)
}

/** The id of the oldest of the newest runs of a pipeline; null when there are not that many. */
async function oldestOfNewest(db: Database, pipelineId: number, count: number): Promise<number | null> {
  const heads = newestInPartition(['pipeline_id', 'status'], { ids: ANY_ID, limit: count })
  const { rows } = await sql<{ id: number | null }>`
    select case when count(*) = ${count}::bigint then min(id) end as id from (
      select heads.id from (select ${pipelineId}::bigint as pipeline_id, status
        from unnest(${Object.keys(STATUSES)}::text[]) as status) as partition, lateral ${heads} as heads
      order by heads.id desc limit ${count}::bigint) as newest`.execute(db)
  return rows[0]!.id
}

type Walk = { pipelineId: number; status: (typeof ENDED)[number]; oldestKept: number }

/** From the oldest on. */
async function removeFrom(db: Database, walk: Walk, throttle: Throttle, outcome: Outcome): Promise<void> {
  for (let after = 0; !throttle.isOver(); ) {
    const rows = await nextRuns(db, walk, after)
    const settled = rows.filter((row) => row.is_final).map((row) => row.id)
    const removed = await removeUnlessNeeded(db, settled, outcome)
    if (rows.length < RUNS_AT_ONCE) break
    after = rows.at(-1)!.id
    if (removed > 0) await throttle.pause()
  }
}

/** Only the index of pipeline and status provides this order (see model/actions/partition.ts). */
async function nextRuns(db: Database, { pipelineId, status, oldestKept }: Walk, after: number) {
  const { rows } = await sql<{ id: number; is_final: boolean }>`
    select a.id, ${isFinal} as is_final from actions a
    where (a.pipeline_id, a.status, a.id) > (${pipelineId}::bigint, ${status}::text, ${after}::bigint)
      and (a.pipeline_id, a.status, a.id) < (${pipelineId}::bigint, ${status}::text, ${oldestKept}::bigint)
    order by a.pipeline_id, a.status, a.id limit ${RUNS_AT_ONCE}::int`.execute(db)
  return rows
}
