import { sql } from 'kysely'
import type { Database, Transaction } from '#platform/database/connect.ts'
import { TARGETS_JOB } from '#platform/queue/jobs.ts'
import type { Queue } from '#platform/queue/open-queue.ts'
import { hasJob } from '#platform/queue/target-jobs.ts'
import type { EnqueueTargets, TargetJob } from './assign-slots.ts'
import type { OnMoves } from './committed-moves.ts'
import { IS_HELD } from './held-targets.ts'
import { requestMissing, scheduleEnvironment } from './schedule-new.ts'
import { placeWaiting } from './stranded-targets.ts'

export type Enqueue = ReturnType<typeof createEnqueue>

/** Enqueues jobs in the transaction of the rows that they are about. */
export function createEnqueue(queue: Queue) {
  return {
    /** Actions were started: schedule them. */
    async runs(trx: Transaction, actionIds: number[]): Promise<void> {
      await queue.enqueue(trx, 'actions.run', [{ action_ids: actionIds }])
    },
    /** Targets have a slot on their server: run them. */
    async targets(trx: Transaction, targets: TargetJob[]): Promise<void> {
      const payloads = targets.map(({ targetId }) => ({ target_id: targetId }))
      const workers = new Map(targets.map(({ targetId, worker }) => [targetId, worker]))
      const group = (payload: { target_id: number }) => workers.get(payload.target_id) ?? null
      await queue.enqueue(trx, TARGETS_JOB, payloads, group)
    },
  }
}

/**
 * Assigns free slots that something still waits for. What frees a slot also assigns it, so there is little to
 * find: a limit that was raised, a server that was removed from a pipeline. Targets that should run and have no
 * job, because it went to the dead letters, get another one; those whose worker was lost wait for one again. The job
 * `scheduling.sweep`.
 */
export async function sweepSlots(
  db: Database,
  enqueueTargets: EnqueueTargets,
  onError: (error: Error) => void,
  onMoves?: OnMoves,
): Promise<void> {
  await db.transaction().execute(async (trx) => {
    const orphaned = await findOrphanedTargets(trx)
    // The worker that takes one checks whether it may run it.
    const targets = orphaned.map((targetId) => ({ targetId, worker: null }))
    if (orphaned.length > 0) await enqueueTargets(trx, targets)
  })
  await placeWaiting(db, enqueueTargets, onError, onMoves)
  await requestMissing(db, 'missing').catch(onError)
  // An error in one environment must not stop the others.
  for (const { environmentId, ...affected } of await findFreeSlots(db))
    await scheduleEnvironment(db, environmentId, affected, enqueueTargets, onMoves).catch(onError)
}

/** Finds what runs before ordering it: with both in one, the planner would read all targets by their ids. */
async function findOrphanedTargets(db: Database): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    with running as materialized (
      select id from targets
      where status in ('queued', 'in-progress') and not ${IS_HELD} and updated_at < now() - interval '1 minute'
    )
    select id from running where not ${hasJob(sql`running.id`)} order by id limit 100`.execute(db)
  return rows.map((row) => row.id)
}

type FreeSlots = { environmentId: number; pipelineIds: number[]; serverIds: number[] }

async function findFreeSlots(db: Database): Promise<FreeSlots[]> {
  const { rows } = await sql<FreeSlots>`
    with free_pipelines as (
      select p.environment_id, p.id from pipelines p
      cross join lateral (
        select updated_at from actions where pipeline_id = p.id and status in ('queued', 'waiting') and not has_place
          and gate is null
        order by id limit 1
      ) as next
      where next.updated_at < now() - interval '10 seconds' and (p.max_parallel_actions = 0 or p.max_parallel_actions >
          (select count(*) from actions where pipeline_id = p.id and has_place))
    ), free_servers as (
      select s.environment_id, s.id from servers s
      where (exists (select from targets where server_id = s.id and status = 'waiting' and gate is null)
          or exists (select from targets where server_id = s.id and ${IS_HELD}))
        and (s.max_parallel_actions = 0 or s.max_parallel_actions >
          (select count(*) from targets
            where server_id = s.id and status in ('queued', 'in-progress') and not ${IS_HELD}))
    )
    select environment_id as "environmentId",
      coalesce(array_agg(id) filter (where kind = 'pipeline'), '{}') as "pipelineIds",
      coalesce(array_agg(id) filter (where kind = 'server'), '{}') as "serverIds"
    from (select environment_id, id, 'pipeline' as kind from free_pipelines
      union all select environment_id, id, 'server' from free_servers) as found
    group by environment_id`.execute(db)
  return rows
}
