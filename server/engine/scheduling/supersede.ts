import { sql, type Transaction } from 'kysely'
import type { Tables } from '#platform/database/tables.ts'
import { lockScheduling, openSchedulingPass } from './scheduling-pass.ts'
import { releaseChildren, skipAction } from './settle.ts'

/**
 * Skips the runs of these pipelines that calls have started, that have not begun, and that a newer one
 * replaces. Runs that a person asked for stay. The places that become free are given away when the newer run
 * takes its turn.
 */
export async function supersedeOlder(
  trx: Transaction<Tables>,
  pipelines: readonly { id: number; environmentId: number }[],
): Promise<void> {
  // All at once, in order: two commits that take the same ones one by one could wait for each other.
  await lockScheduling(
    trx,
    pipelines.map((one) => one.environmentId),
  )
  for (const [environmentId, here] of Map.groupBy(pipelines, (one) => one.environmentId)) {
    const round = await openSchedulingPass(trx, environmentId)
    const older = await round.load(
      await olderRuns(
        trx,
        here.map(({ id }) => id),
      ),
    )
    for (const action of older) skipAction(round, action)
    await releaseChildren(round)
    await round.flush()
  }
}

async function olderRuns(trx: Transaction<Tables>, pipelineIds: readonly number[]): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    with unbegun as (
      select id, max(id) over (partition by pipeline_id) as newest from actions
      where pipeline_id = any(${pipelineIds}::bigint[]) and status in ('pending', 'waiting', 'queued')
        and trigger_type = 'hook' and triggered_by is null
    )
    select id from unbegun where id < newest order by id`.execute(trx)
  return rows.map((row) => row.id)
}
