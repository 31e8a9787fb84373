import { sql } from 'kysely'
import { createRepositories } from '#adapters/repositories/repositories.ts'
import { runTarget } from '#engine/runner/run-target.ts'
import type { RunnerDeps } from '#engine/runner/running-target.ts'
import { createStepHandler } from '#engine/runner/step-handlers.ts'
import { createEnqueue } from '#engine/scheduling/jobs.ts'
import { createScheduler } from '#engine/scheduling/schedule-new.ts'
import { openTargetLifecycle } from '#engine/scheduling/target-lifecycle.ts'
import type { SecretBox } from '#platform/crypto/secret-box.ts'
import type { ConnectionSettings, Database } from '#platform/database/connect.ts'
import { type Listener, openListener } from '#platform/database/listen.ts'
import type { Log, WorkerTimings } from '#platform/queue/core.ts'
import { reassignLostJobs } from '#platform/queue/maintenance.ts'
import type { Queue } from '#platform/queue/open-queue.ts'
import { startWorker, type Worker } from '#platform/queue/worker.ts'
import type { Actor, Script } from './script.ts'

/** What all workers share. */
export type WorkerDeps = { db: Database; box: SecretBox; settings: ConnectionSettings; queue: Queue }

/** The workers of a scenario, one at a time, and those that were lost. */
export type Workers = {
  start(duties: 'everything' | 'scheduling'): Promise<void>
  /** As a process that stops without a grace period. */
  stop(): Promise<void>
  /** The worker stops responding in the middle of its work, and its jobs are reassigned. */
  lose(): Promise<void>
  /** The lost workers resume, try to continue, and end; then the current one ends. */
  end(graceMs: number): Promise<void>
}

type Member = { worker: Worker; listener: Listener; actor: Actor }

const NEVER_MS = 3_600_000
// No polling: everything relies on notifications.
const TIMINGS = {
  pollMs: NEVER_MS,
  heartbeatMs: NEVER_MS,
  maintenanceMs: NEVER_MS,
  batchMs: 0,
  abortGraceMs: 20_000,
  lastWritesMs: 20_000,
} satisfies Partial<WorkerTimings>

export function createWorkers(deps: WorkerDeps, script: Script): Workers {
  const { db, box, settings, queue } = deps
  const enqueue = createEnqueue(queue)
  const onError = (error: Error) => void script.violations.push(error.message)
  const repositories = createRepositories({
    folder: '/nowhere',
    allowRemote: async () => ({ kind: 'refused', message: 'Scenarios deploy nothing.' }),
  })
  const lost: (Member & { ended: Promise<void> })[] = []
  let member: Member | undefined

  async function runnerDeps(actor: Actor, listener: Listener): Promise<RunnerDeps> {
    return {
      db,
      box,
      log: failOnErrors(actor, script.violations),
      lifecycle: await openTargetLifecycle({ db, listener, enqueueTargets: enqueue.targets, onError }),
      recheck: async () => {},
      checkStart: async () => ({ kind: 'starts', note: null }),
      reattachSeconds: 300,
      reach: script.reachAs(actor),
      handleStep: createStepHandler({ db, repositories }),
    }
  }

  function take(): Member {
    if (!member) throw new Error('No worker is running')
    const taken = member
    member = undefined
    return taken
  }

  async function leave({ worker, listener }: Member, graceMs: number): Promise<void> {
    await worker.stop({ graceMs })
    await listener.close()
  }

  return {
    async start(duties) {
      if (member) await leave(take(), NEVER_MS)
      const listener = await openListener(settings, { onError })
      const actor: Actor = { isLost: false, awake: Promise.withResolvers() }
      const runner = await runnerDeps(actor, listener)
      const schedule = createScheduler(db, enqueue.targets)
      const worker = await startWorker({
        queue,
        heartbeats: queue.db,
        listener,
        handlers: {
          'actions.run': ({ action_ids }) => schedule(action_ids),
          ...(duties === 'everything' && {
            'targets.run': ({ target_id }, context) => runTarget(runner, target_id, context),
          }),
        },
        log: failOnErrors(actor, script.violations),
        timings: TIMINGS,
      })
      member = { worker, listener, actor }
    },
    stop: () => leave(take(), 0),
    async lose() {
      const gone = take()
      gone.actor.isLost = true
      // It receives and fetches nothing more, and what it has started continues: like a paused process.
      lost.push({ ...gone, ended: gone.worker.stop({ graceMs: NEVER_MS }) })
      await gone.listener.close()
      await sql`
        update queue.job set heartbeat_on = now() - interval '1 hour'
        where name = 'targets.run' and state = 'active'`.execute(db)
      await reassignLostJobs(queue)
    },
    async end(graceMs) {
      for (const { actor, ended } of lost) {
        actor.awake.resolve()
        await ended
      }
      if (member) await leave(take(), graceMs)
    },
  }
}

/** A failed attempt would be retried after a second: here it must not happen at all. */
function failOnErrors(actor: Actor, violations: string[]): Log {
  const quiet = () => {}
  const note = (fields: object, message: string) => {
    if (!actor.isLost) violations.push(`${message}: ${JSON.stringify(fields)}`)
  }
  return { debug: quiet, info: quiet, warn: note, error: note }
}
