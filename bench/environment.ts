import { createEnqueue } from '#engine/scheduling/jobs.ts'
import { createScheduler } from '#engine/scheduling/schedule-new.ts'
import { openTargetLifecycle } from '#engine/scheduling/target-lifecycle.ts'
import { type ConnectionSettings, type Database, openDatabase } from '#platform/database/connect.ts'
import { openListener } from '#platform/database/listen.ts'
import { fetchJobs } from '#platform/queue/fetch-jobs.ts'
import { createContext } from '#platform/queue/handler.ts'
import { TARGETS_JOB } from '#platform/queue/jobs.ts'
import { openQueue } from '#platform/queue/open-queue.ts'
import { createTestTree } from '#test/support/world.ts'
import type { Bench } from './bench.ts'
import { makeIdlePipeline } from './idle-pipeline.ts'
import { alternate, median, medianRatio } from './measure.ts'
import type { Workbench } from './workbench.ts'

const SIZES = { full: { runs: 150, rounds: 5 }, smoke: { runs: 12, rounds: 1 } }
const WORKERS = 3
/** Targets that a worker runs at the same time. */
const AT_ONCE = 16
const CONNECTIONS = 5
const COMPLETED = { status: 'completed', reason: 'COMPLETED' } as const
const onError = (error: Error) => {
  throw error
}

/**
 * How fast runs of one environment begin and end on three workers, all under its one lock, with steps that take no time.
 * Against one worker on one connection: the same statements one after the other, and the lock is always free.
 */
export const environment: Bench = async (workbench, size) => {
  const { runs, rounds } = SIZES[size]
  const { db, settings } = await workbench.createDatabase('environment')
  // Not as long as the workbench: other benches need connections, too.
  await using resources = new AsyncDisposableStack()
  const start = await openRuns(workbench, db, settings, resources)
  const workers: Worker[] = []
  for (let number = 0; number < WORKERS; number += 1)
    workers.push(await openWorker(settings, CONNECTIONS, resources))
  const alone = await openWorker(settings, 1, resources)
  // Both are warm.
  await start(AT_ONCE)
  await alone(1)
  await Promise.all(workers.map((work) => work(AT_ONCE)))

  const timed = async (work: () => Promise<{ changes: number }[]>) => {
    await start(runs)
    const began = performance.now()
    const done = await work()
    return done.reduce((sum, { changes }) => sum + changes, 0) / ((performance.now() - began) / 1_000)
  }
  const rates = await alternate(rounds, {
    together: () => timed(() => Promise.all(workers.map((work) => work(AT_ONCE)))),
    alone: () => timed(async () => [await alone(1)]),
  })
  return [
    {
      name: 'environment',
      value: median(rates.together),
      unit: '/s',
      ratio: medianRatio(rates.together, rates.alone),
      floor: 'one-connection',
      goal: { of: 'ratio', is: 'at least', limit: 0.6 },
      details: { runs, workers: WORKERS, ...rates },
    },
  ]
}

/** What starts so many runs, and resolves when their targets are in the queue. */
async function openRuns(
  workbench: Workbench,
  db: Database,
  settings: ConnectionSettings,
  resources: AsyncDisposableStack,
) {
  const tree = await createTestTree(db)
  const folder = await workbench.makeFolder()
  const { pipelineId, serverIds } = await makeIdlePipeline(db, tree, folder, { steps: 1, servers: 1 })
  await db.updateTable('pipelines').set({ max_parallel_actions: 0 }).where('id', '=', pipelineId).execute()
  await db.updateTable('servers').set({ max_parallel_actions: 0 }).where('id', 'in', serverIds).execute()
  const { url } = await workbench.startServer(settings)
  const queue = await openQueue({ settings, onError })
  resources.defer(() => queue.close())
  const schedule = createScheduler(db, createEnqueue(queue).targets)
  const headers = { authorization: `Bearer ${tree.owner.token}`, 'content-type': 'application/json' }
  return async (count: number): Promise<void> => {
    const ids: number[] = []
    for (let number = 0; number < count; number += 1) {
      const answer = await fetch(`${url}/pipelines/${pipelineId}/actions`, {
        method: 'POST',
        headers,
        body: '{}',
      })
      ids.push(((await answer.json()) as { id: number }).id)
    }
    await schedule(ids)
  }
}

/** Runs targets, so many at the same time, until none is left. */
type Worker = (atOnce: number) => Promise<{ changes: number }>

async function openWorker(
  settings: ConnectionSettings,
  connections: number,
  resources: AsyncDisposableStack,
): Promise<Worker> {
  const database = openDatabase(settings, { max: connections, onIdleError: onError })
  resources.defer(() => database.close())
  const queue = await openQueue({ settings, onError })
  resources.defer(() => queue.close())
  const listener = await openListener(settings, { onError })
  resources.defer(() => listener.close())
  let changes = 0
  const lifecycle = await openTargetLifecycle({
    db: database.db,
    listener,
    enqueueTargets: createEnqueue(queue).targets,
    onError,
    onMoves(moves) {
      changes += moves.actions + moves.targets + moves.endedSteps.length
    },
  })

  async function runNext(): Promise<boolean> {
    const [job] = await fetchJobs(queue, TARGETS_JOB, null, 1)
    if (!job) return false
    const context = createContext(queue, TARGETS_JOB, job, new AbortController().signal, {
      onComplete() {},
      isDraining: () => false,
      handOver: new AbortController().signal,
    })
    const { target_id } = job.data as { target_id: number }
    const attempt = await lifecycle.begin(target_id, context, job.id, async () => ({ order: 1 }))
    await attempt!.end(1, COMPLETED)
    attempt!.release()
    return true
  }

  return async (atOnce) => {
    changes = 0
    const running = Array.from({ length: atOnce }, async () => {
      while (await runNext());
    })
    await Promise.all(running)
    return { changes }
  }
}
