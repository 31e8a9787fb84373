import { sql } from 'kysely'
import { createRepositories } from '#adapters/repositories/repositories.ts'
import { type RunnerDeps, runTarget } from '#engine/runner/run-target.ts'
import { createStepHandler } from '#engine/runner/step-handlers.ts'
import { createEnqueue, scheduleActions } from '#engine/scheduling/jobs.ts'
import { openTargetLifecycle } from '#engine/scheduling/target-lifecycle.ts'
import type { SecretBox } from '#platform/crypto/secret-box.ts'
import type { ConnectionSettings, Database } from '#platform/database/connect.ts'
import { type Listener, openListener } from '#platform/database/listen.ts'
import type { Log } from '#platform/queue/core.ts'
import { reassignLostJobs } from '#platform/queue/hand-back.ts'
import { startWorker, type Worker } from '#platform/queue/loop.ts'
import type { Queue } from '#platform/queue/open-queue.ts'
import type { Actor, Script } from './script.ts'

/** What workers share, whichever scenario they play in. */
export type Ground = { db: Database; box: SecretBox; settings: ConnectionSettings; queue: Queue }

/** The workers of a scenario, one at a time; and those that were lost. */
export type Crew = {
  start(duties: 'everything' | 'scheduling'): Promise<void>
  /** As a process does that was told to end: what runs has no time left. */
  stop(): Promise<void>
  /** The worker falls silent in the middle of what it does, and its jobs are free for another. */
  lose(): Promise<void>
  /** The lost ones wake up, want to go on, and end; then whoever works ends too. */
  end(graceMs: number): Promise<void>
}

type Member = { worker: Worker; listener: Listener; actor: Actor }

const NEVER_MS = 3_600_000
// Nothing here is found by looking again after a while: who is to act has to be told.
const TIMINGS = {
  pollMs: NEVER_MS,
  beatMs: NEVER_MS,
  upkeepMs: NEVER_MS,
  gatherMs: 0,
  abortGraceMs: 20_000,
  lastWritesMs: 20_000,
}

export function createCrew(ground: Ground, script: Script): Crew {
  const { db, box, settings, queue } = ground
  const enqueue = createEnqueue(queue)
  const onError = (error: Error) => void script.faults.push(error.message)
  const repositories = createRepositories({
    folder: '/nowhere',
    allowRemote: async () => ({ kind: 'refused', message: 'Scenarios deploy nothing.' }),
  })
  const lost: (Member & { ended: Promise<void> })[] = []
  let member: Member | undefined

  async function depsFor(actor: Actor, listener: Listener): Promise<RunnerDeps> {
    return {
      db,
      box,
      log: logFaults(actor, script.faults),
      lifecycle: await openTargetLifecycle({ db, listener, enqueueTargets: enqueue.targets, onError }),
      reach: script.reachAs(actor),
      handleStep: createStepHandler({ db, repositories }),
    }
  }

  function take(): Member {
    if (!member) throw new Error('There is no worker')
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
      const deps = await depsFor(actor, listener)
      const worker = await startWorker({
        queue,
        listener,
        handlers: {
          'actions.run': ({ action_ids }) => scheduleActions(db, action_ids, enqueue.targets),
          ...(duties === 'everything' && {
            'targets.run': ({ target_id }, context) => runTarget(deps, target_id, context),
          }),
        },
        log: logFaults(actor, script.faults),
        timings: TIMINGS,
      })
      member = { worker, listener, actor }
    },
    stop: () => leave(take(), 0),
    async lose() {
      const gone = take()
      gone.actor.isLost = true
      // It hears and fetches nothing more, and what it has begun goes on: like a process that is paused.
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

/** An attempt that fails would be repeated after a second: here it must not happen at all. */
function logFaults(actor: Actor, faults: string[]): Log {
  const quiet = () => {}
  const note = (fields: object, message: string) => {
    if (!actor.isLost) faults.push(`${message}: ${JSON.stringify(fields)}`)
  }
  return { debug: quiet, info: quiet, warn: note, error: note }
}
