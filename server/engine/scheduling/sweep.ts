import { sql } from 'kysely'
import type { Database } from '#platform/database/connect.ts'
import { openSchedulingPass } from './scheduling-pass.ts'
import { type EnqueueTargets, settleRound } from './settle.ts'

type Stuck = { environment_id: number; pipeline_ids: number[]; server_ids: number[] }

/**
 * Finds pipelines and servers with room for somebody who waits, and lets them go on. What frees a place also
 * gives it away, so there is little to find: a limit that was raised, a server that was taken off a pipeline.
 * Targets that should be run and have no job, because it was given up, get another. Run by a job.
 */
export async function sweepPlaces(
  db: Database,
  enqueueTargets: EnqueueTargets,
  onError: (error: Error) => void,
): Promise<void> {
  await db.transaction().execute(async (trx) => {
    const forgotten = await findForgotten(trx)
    if (forgotten.length > 0) await enqueueTargets(trx, forgotten)
  })
  for (const stuck of await findStuck(db)) {
    const round = db.transaction().execute(async (trx) => {
      const round = await openSchedulingPass(trx, stuck.environment_id)
      await settleRound(
        round,
        { pipelineIds: stuck.pipeline_ids, serverIds: stuck.server_ids },
        enqueueTargets,
      )
    })
    // One environment's trouble is not the others'.
    await round.catch(onError)
  }
}

async function findForgotten(db: Database): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    select t.id from targets t
    where t.status in ('queued', 'in-progress') and t.updated_at < now() - interval '1 minute'
      and not exists (select from queue.job where name = 'targets.run' and state < 'completed'
        and (data ->> 'target_id')::bigint = t.id)
    order by t.id limit 100`.execute(db)
  return rows.map((row) => row.id)
}

async function findStuck(db: Database): Promise<Stuck[]> {
  const { rows } = await sql<Stuck>`
    with pipelines_with_room as (
      select p.environment_id, p.id from pipelines p
      where exists (select from actions where pipeline_id = p.id and status in ('waiting', 'queued') and not has_place
          and updated_at < now() - interval '10 seconds')
        and (p.max_parallel_actions = 0 or p.max_parallel_actions >
          (select count(*) from actions where pipeline_id = p.id and has_place))
    ), servers_with_room as (
      select s.environment_id, s.id from servers s
      where exists (select from targets where server_id = s.id and status = 'waiting')
        and (s.max_parallel_actions = 0 or s.max_parallel_actions >
          (select count(*) from targets where server_id = s.id and status in ('queued', 'in-progress')))
    )
    select environment_id, array_agg(id) filter (where kind = 'pipeline') as pipeline_ids,
      array_agg(id) filter (where kind = 'server') as server_ids
    from (select environment_id, id, 'pipeline' as kind from pipelines_with_room
      union all select environment_id, id, 'server' from servers_with_room) as found
    group by environment_id`.execute(db)
  return rows.map((row) => ({
    ...row,
    pipeline_ids: row.pipeline_ids ?? [],
    server_ids: row.server_ids ?? [],
  }))
}
