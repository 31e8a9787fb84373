import { sql } from 'kysely'
import type { Transaction } from '#platform/database/connect.ts'
import { releaseChildren, skipAction } from './assign-slots.ts'
import { lockScheduling, openSchedulingPass } from './scheduling-pass.ts'

/**
 * Skips the runs of these pipelines that hooks have started, that have not started, and that a newer one
 * supersedes. Runs that users started stay. The slots that become free are assigned when the newer run is
 * scheduled.
 */
export async function supersedeOlder(
  trx: Transaction,
  pipelines: readonly { id: number; environmentId: number }[],
): Promise<void> {
  const byEnvironment = Map.groupBy(pipelines, (pipeline) => pipeline.environmentId)
  // All at once, in order: two commits that take the same locks one by one could deadlock.
  await lockScheduling(trx, [...byEnvironment.keys()])
  for (const [environmentId, group] of byEnvironment) {
    const pass = await openSchedulingPass(trx, environmentId)
    const ids = group.map(({ id }) => id)
    for (const action of await pass.load(await olderRuns(trx, ids))) skipAction(pass, action)
    await releaseChildren(pass)
    await pass.flush()
  }
}

async function olderRuns(trx: Transaction, pipelineIds: readonly number[]): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    with not_started as (
      select id, max(id) over (partition by pipeline_id) as newest from actions
      where pipeline_id = any(${pipelineIds}::bigint[]) and status in ('pending', 'waiting', 'queued')
        and trigger_type = 'hook' and triggered_by is null
    )
    select id from not_started where id < newest order by id`.execute(trx)
  return rows.map((row) => row.id)
}
