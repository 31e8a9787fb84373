import { mkdir } from 'node:fs/promises'
import { sql } from 'kysely'
import type { Database } from '#platform/database/connect.ts'
import { until } from '#test/support/until.ts'
import { createTestTree } from '#test/support/world.ts'
import type { Bench } from './bench.ts'
import { approveWaiting, requireApproval, stopPreparing, storeAtGate } from './gated.ts'
import { makeIdlePipeline } from './idle-pipeline.ts'
import { alternate, median, medianRatio, ROUNDS, startLoader } from './measure.ts'
import { CONNECTIONS, createPushHook, DELIVERY, postOf, signedPush } from './push.ts'
import { startService } from './service.ts'
import { runStatement, type Workbench } from './workbench.ts'

const SIZES = {
  /** `few`: those of the floor, enough runs to time, too few to count as a backlog. */
  full: { waiting: 50_000, few: 100, warmUpMs: 1_500, ms: 1_500, rounds: ROUNDS, runs: 60 },
  smoke: { waiting: 20, few: 10, warmUpMs: 100, ms: 200, rounds: 1, runs: 3 },
}

/**
 * Calls, and the time from a free slot to the next start, with many actions waiting for one slot and with few. At a gate, the
 * many wait for approval instead, beside few that are approved.
 */
export const backlog: Bench = async (workbench, size) => {
  const { waiting, warmUpMs, ms, rounds, runs, ...floor } = SIZES[size]
  const loader = startLoader()
  workbench.defer(() => loader.stop())
  const { atGate } = workbench
  const [many, few] =
    atGate > 0
      ? [await openQueue(workbench, floor.few, atGate), await openQueue(workbench, floor.few, floor.few)]
      : [await openQueue(workbench, waiting), await openQueue(workbench, floor.few)]
  const call = (queue: WaitingQueue, duration: number) => async () => {
    const requests = [postOf(queue.path, signedPush(queue.secret))]
    const { perSecond } = await loader.load(queue, {
      connections: CONNECTIONS,
      ms: duration,
      requests,
      numbered: DELIVERY,
    })
    await queue.removeNew()
    return perSecond
  }
  await alternate(1, { many: call(many, warmUpMs), few: call(few, warmUpMs) })
  const rates = await alternate(rounds, { many: call(many, ms), few: call(few, ms) })
  const gaps = await alternate(1, { many: () => many.timeStarts(runs), few: () => few.timeStarts(runs) })
  return [
    {
      name: 'backlog-calls',
      value: median(rates.many),
      unit: '/s',
      ratio: medianRatio(rates.many, rates.few),
      floor: 'few-waiting',
      goal: { of: 'ratio', is: 'at least', limit: 0.9 },
      details: { perSecond: rates },
    },
    {
      name: 'backlog-next-start',
      value: gaps.many[0]!,
      unit: 'ms',
      ratio: gaps.many[0]! / gaps.few[0]!,
      floor: 'few-waiting',
      goal: { of: 'ratio', is: 'at most', limit: 1.5 },
      details: { fewMs: gaps.few[0] },
    },
  ]
}

type WaitingQueue = Awaited<ReturnType<typeof openQueue>>

/** A service whose pipeline has one slot, which is taken, and so many actions that wait for it, and for approval. */
async function openQueue(workbench: Workbench, waiting: number, atGate = 0) {
  const database = await workbench.createDatabase('backlog')
  const { db, settings } = database
  const tree = await createTestTree(db)
  const folder = await workbench.makeFolder()
  await mkdir(`${folder}/1`)
  const { pipelineId, serverIds } = await makeIdlePipeline(db, tree, folder, { steps: 1, servers: 1 })
  await db.updateTable('pipelines').set({ max_parallel_actions: 1 }).where('id', '=', pipelineId).execute()
  const scope = { environmentId: tree.environmentId, pipelineId, serverId: serverIds[0]! }
  const blocker = await storeBlocker(db, scope)
  await storeWaiting(db, scope, waiting)
  if (atGate > 0) {
    await approveWaiting(db, tree)
    await storeAtGate(db, scope, atGate)
  }
  await runStatement(settings, 'vacuum analyze', 'checkpoint')
  const { url } = await startService(workbench, settings)
  if (atGate > 0) await requireApproval(url, tree)
  const { path, secret } = await createPushHook(url, { pipelineId, token: tree.owner.token })
  return {
    port: Number(new URL(url).port),
    cpuMs: async () => 0,
    path,
    secret,
    /** Ends what calls have added, once it has been scheduled: the next round begins with as many as this one. */
    async removeNew(): Promise<void> {
      await until('new actions are scheduled', 60_000, async () => !(await hasQueued(db)))
      await sql`update actions set status = 'skipped', status_reason_code = 'SKIPPED', completed_at = now(), gate = null
        where id > ${blocker + waiting + atGate} and status = 'waiting'`.execute(db)
      await stopPreparing(db)
      await runStatement(settings, 'vacuum analyze actions', 'checkpoint')
    },
    /** Frees the slot for some of those that wait. Returns the median time between an end and the next start. */
    async timeStarts(runs: number): Promise<number> {
      await sql`update targets set status = 'completed', status_reason_code = 'COMPLETED', completed_at = now()
        where action_id = ${blocker}`.execute(db)
      await sql`update actions set status = 'completed', status_reason_code = 'COMPLETED', has_place = false,
          completed_at = now() where id = ${blocker}`.execute(db)
      // A run of a user, whose job looks for the free slot; calls leave that to the runs ahead of them.
      await fetch(`${url}/pipelines/${pipelineId}/actions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${tree.owner.token}` },
      })
      await until('they have run', 120_000, async () => (await endedAfter(db, blocker)) > runs)
      const { rows } = await sql<{ ms: number }>`
        select extract(epoch from lead(started_at) over (order by id) - completed_at)::float8 * 1000 as ms
        from actions where id > ${blocker} and status = 'completed' order by id limit ${runs}`.execute(db)
      return median(rows.map(({ ms }) => ms))
    },
  }
}

type Scope = { environmentId: number; pipelineId: number; serverId: number }

const PENDING_STEP = `jsonb_build_array(jsonb_build_object('order', 1, 'step_id', (select id from pipeline_steps
  where pipeline_id = a.pipeline_id), 'name', 'nothing-1', 'description', null, 'status', 'pending', 'reason', 'PENDING',
  'started_at', null, 'completed_at', null, 'updated_at', now()))`

/** Has the only slot, and does nothing. The sweep leaves it alone until tomorrow. */
async function storeBlocker(db: Database, scope: Scope): Promise<number> {
  const { rows } = await sql<{ id: number }>`
    insert into actions (environment_id, pipeline_id, type, status, status_reason_code, trigger_type, has_place,
      started_at, updated_at)
    values (${scope.environmentId}, ${scope.pipelineId}, 'configure', 'in-progress', 'IN_PROGRESS', 'manual', true,
      now(), now() + interval '1 day') returning id`.execute(db)
  const { id } = rows[0]!
  await sql`
    insert into targets (action_id, position, server_id, status, status_reason_code, steps, started_at, updated_at)
    select a.id, 1, ${scope.serverId}, 'in-progress', 'IN_PROGRESS', ${sql.raw(PENDING_STEP)}, now(),
      now() + interval '1 day'
    from actions a where a.id = ${id}`.execute(db)
  return id
}

async function storeWaiting(db: Database, scope: Scope, count: number): Promise<void> {
  await sql`
    insert into actions (environment_id, pipeline_id, type, status, status_reason_code, trigger_type)
    select ${scope.environmentId}, ${scope.pipelineId}, 'configure', 'waiting', 'WAITING_CONCURRENCY_PIPELINE', 'manual'
    from generate_series(1, ${count}::int)`.execute(db)
  await sql`
    insert into targets (action_id, position, server_id, status, status_reason_code, steps)
    select a.id, 1, ${scope.serverId}, 'pending', 'PENDING', ${sql.raw(PENDING_STEP)}
    from actions a where a.status = 'waiting' order by a.id`.execute(db)
}

async function hasQueued(db: Database): Promise<boolean> {
  const { rows } = await sql`select from actions where status = 'queued' limit 1`.execute(db)
  return rows.length > 0
}

async function endedAfter(db: Database, id: number): Promise<number> {
  const { rows } = await sql<{ ended: number }>`
    select count(*) as ended from actions where id > ${id} and status = 'completed'`.execute(db)
  return Number(rows[0]!.ended)
}
