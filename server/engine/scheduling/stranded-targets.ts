import { sql } from 'kysely'
import { IS_ONLINE } from '#model/workers/live-workers.ts'
import { placeTarget } from '#model/workers/placement.ts'
import type { Database, Transaction } from '#platform/database/connect.ts'
import { ASSIGNED_JOBS, reassignJobs, removeWaitingJob } from '#platform/queue/target-jobs.ts'
import { assignSlots, type EnqueueTargets } from './assign-slots.ts'
import { type OnMoves, reportMoves } from './committed-moves.ts'
import { openSchedulingPass } from './scheduling-pass.ts'

// Targets whose job only workers of one name may take, and none of them is online, or all of them drain.

const MAX_AT_ONCE = 500

type Stranded = {
  jobId: string
  targetId: number
  actionId: number
  serverId: number
  environmentId: number
  isRunning: boolean
}

/**
 * Targets that have not started wait for a worker again, or go to another one that may take them. Those that have
 * started stay where they are, unless their server belongs to another worker now. Then all that wait for a worker are
 * looked at. For the time when a worker comes, and for the sweep.
 */
export async function placeWaiting(
  db: Database,
  enqueueTargets: EnqueueTargets,
  onError: (error: Error) => void,
  onMoves?: OnMoves,
): Promise<void> {
  const byEnvironment = Map.groupBy(await findStranded(db), (one) => one.environmentId)
  const waiting = await findWaiting(db)
  for (const { environmentId } of waiting) byEnvironment.getOrInsert(environmentId, [])
  for (const [environmentId, stranded] of byEnvironment) {
    const serverIds = waiting.flatMap((one) => (one.environmentId === environmentId ? one.serverIds : []))
    const place = async (trx: Transaction) => {
      const pass = await openSchedulingPass(trx, environmentId)
      const actions = await pass.load(stranded.map(({ actionId }) => actionId))
      const targets = new Map(
        actions.flatMap((action) => action.targets.map((target) => [target.id, target])),
      )
      for (const one of stranded) {
        const target = targets.get(one.targetId)
        if (target?.status !== 'queued') continue
        if (await removeWaitingJob(trx, one.jobId))
          pass.moveTarget(target, { status: 'waiting', reason: 'WAITING_WORKER' })
      }
      const affected = {
        actionIds: actions.map(({ id }) => id),
        serverIds: [...serverIds, ...stranded.map(({ serverId }) => serverId)],
      }
      await assignSlots(pass, affected, enqueueTargets)
      const started = stranded.filter(({ isRunning }) => isRunning)
      if (started.length > 0) await moveJobs(trx, started, await pass.workers())
    }
    await reportMoves(db, onMoves, place, environmentId).catch(onError)
  }
}

/** Finds the jobs before ordering their targets: with both in one, the planner would read all targets by their ids. */
async function findStranded(db: Database): Promise<Stranded[]> {
  const { rows } = await sql<Stranded>`
    with jobs as materialized (
      select job_id, target_id from (${ASSIGNED_JOBS}) as assigned
      where not exists (select from workers where name = assigned.worker and draining_since is null and ${IS_ONLINE})
    )
    select jobs.job_id as "jobId", target.* from jobs cross join lateral (
      select t.id as "targetId", t.action_id as "actionId", t.server_id as "serverId",
        a.environment_id as "environmentId", t.status = 'in-progress' as "isRunning"
      from targets t join actions a on a.id = t.action_id
      where t.id = jobs.target_id and t.status in ('queued', 'in-progress') limit 1
    ) as target
    order by target."isRunning", target."targetId" limit ${MAX_AT_ONCE}`.execute(db)
  return rows
}

async function findWaiting(db: Database): Promise<{ environmentId: number; serverIds: number[] }[]> {
  const { rows } = await sql<{ environmentId: number; serverIds: number[] }>`
    select s.environment_id as "environmentId", array_agg(s.id) as "serverIds"
    from servers s
    where exists (select from targets where server_id = s.id and status_reason_code = 'WAITING_WORKER')
    group by s.environment_id`.execute(db)
  return rows
}

type Workers = Parameters<typeof placeTarget>[1]

/** Jobs of targets that have started, to where their server is now; those of cancelled runs to anybody. */
async function moveJobs(trx: Transaction, started: Stranded[], workers: Workers): Promise<void> {
  const { rows } = await sql<{ id: number; workerName: string | null; isCancelled: boolean }>`
    select t.id, s.worker_name as "workerName", a.cancelled_at is not null as "isCancelled"
    from targets t join servers s on s.id = t.server_id join actions a on a.id = t.action_id
    where t.id = any(${started.map(({ targetId }) => targetId)}::bigint[])`.execute(trx)
  for (const { id, workerName, isCancelled } of rows) {
    const place = placeTarget({ isLocal: true, workerName }, workers)
    if (isCancelled) await reassignJobs(trx, [id])
    else if (place.kind === 'worker') await reassignJobs(trx, [id], place.name)
  }
}
