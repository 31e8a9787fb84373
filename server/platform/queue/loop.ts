import type { Listener } from '#platform/database/listen.ts'
import { type Consumer, type ConsumerTimings, startConsumer } from './consumer.ts'
import { ABORT_GRACE_SECONDS, HEARTBEAT_SECONDS, type Log, WAKE_CHANNEL } from './core.ts'
import type { JobHandler, JobHandlers } from './handler.ts'
import type { JobCatalogue, Jobs } from './jobs.ts'
import type { Queue } from './open-queue.ts'
import { createOutage } from './outage.ts'
import { within } from './repeat.ts'
import { keepUp, type UpkeepTimings } from './upkeep.ts'

export type WorkerTimings = ConsumerTimings &
  UpkeepTimings & {
    /** How long a stopping worker tries to write its last outcomes. After that others take its jobs over. */
    lastWritesMs: number
  }

export const DEFAULT_TIMINGS: WorkerTimings = {
  pollMs: 5_000,
  gatherMs: 5,
  beatMs: (HEARTBEAT_SECONDS * 1_000) / 4,
  abortGraceMs: ABORT_GRACE_SECONDS * 1_000,
  upkeepMs: 5_000,
  returnGraceMs: 10_000,
  lastWritesMs: 3_000,
}

export type Worker = {
  /**
   * Fetches nothing more, lets running jobs finish for `graceMs`, then aborts them and hands back what
   * did not complete. Never throws, and is over soon after even when the database is away.
   */
  stop(options: { graceMs: number }): Promise<void>
}

/** Runs the jobs that this process has handlers for. */
export async function startWorker<Catalogue extends JobCatalogue = Jobs>(options: {
  queue: Queue<Catalogue>
  listener: Listener
  handlers: JobHandlers<Catalogue>
  log: Log
  timings?: Partial<WorkerTimings>
}): Promise<Worker> {
  const { queue, log } = options
  const timings = { ...DEFAULT_TIMINGS, ...options.timings }
  const outage = createOutage(log)
  const giveUp = new AbortController()
  const stopping = new AbortController()
  const lanes = new Map<string, Consumer>()
  // First the subscription, then the first look: no job comes unnoticed between the two.
  await options.listener.subscribe(WAKE_CHANNEL, {
    onNotify: (job) => lanes.get(job)?.wake(),
    onReconnect() {
      for (const lane of lanes.values()) lane.wake()
    },
  })
  for (const [job, handler] of Object.entries(options.handlers) as [string, JobHandler<unknown>][]) {
    lanes.set(job, startConsumer({ queue, job, handler, outage, log, timings, giveUp: giveUp.signal }))
  }
  const upkeep = keepUp({ queue, outage, log, timings, signal: stopping.signal })

  return {
    async stop({ graceMs }) {
      stopping.abort()
      const finished = Promise.all([upkeep, ...[...lanes.values()].map((lane) => lane.finish())])
      if (!(await within(graceMs, finished))) {
        for (const lane of lanes.values()) lane.abort()
        await within(timings.abortGraceMs + timings.lastWritesMs, finished)
      }
      giveUp.abort()
      await within(timings.lastWritesMs, finished)
    },
  }
}
