import type { Database } from '#platform/database/connect.ts'
import type { Listener } from '#platform/database/listen.ts'
import { createOutageRetrier } from '#platform/database/outages.ts'
import { type Consumer, type ConsumerOptions, startConsumer } from './consumer.ts'
import { DEFAULT_TIMINGS, type Log, WAKE_CHANNEL, type WorkerDeps, type WorkerTimings } from './core.ts'
import type { JobHandler, JobHandlers } from './handler.ts'
import type { JobCatalog, JobName, Jobs } from './jobs.ts'
import { runMaintenance } from './maintenance.ts'
import type { Queue } from './open-queue.ts'
import { within } from './repeat.ts'

export type Worker = Awaited<ReturnType<typeof startWorker>>

/** Runs the jobs that this process has handlers for. */
export async function startWorker<Catalog extends JobCatalog = Jobs>(options: {
  queue: Queue<Catalog>
  /** Over which heartbeats are sent: a connection that nothing else keeps busy. */
  heartbeats: Database
  listener: Listener
  handlers: JobHandlers<Catalog>
  /** By job. */
  consumers?: { [Name in JobName<Catalog>]?: ConsumerOptions }
  log: Log
  timings?: Partial<WorkerTimings>
}) {
  const { log } = options
  const timings = { ...DEFAULT_TIMINGS, ...options.timings }
  const retry = createOutageRetrier(log, { firstDelayMs: 200 })
  const abandoning = new AbortController()
  const deps: WorkerDeps = { ...options, retry, timings, abandon: abandoning.signal }
  const stopping = new AbortController()
  const consumers = new Map<string, Consumer>()
  // Subscribes before the first fetch, so that no job arrives unnoticed between the two.
  await options.listener.subscribe(WAKE_CHANNEL, {
    onNotify: (job) => consumers.get(job)?.wake(),
    onReconnect() {
      for (const consumer of consumers.values()) consumer.wake()
    },
  })
  for (const [job, handler] of Object.entries(options.handlers) as [string, JobHandler<unknown>][]) {
    const settings = options.consumers?.[job as JobName<Catalog>]
    consumers.set(job, startConsumer(deps, job, handler, settings))
  }
  const maintenance = runMaintenance(deps, stopping.signal)

  return {
    /** How many jobs of this name run here. */
    running: (job: JobName<Catalog>) => consumers.get(job)?.running() ?? 0,
    /** Switches draining on or off: takes no jobs of this name, and hands over those that run where it can. */
    drain: (job: JobName<Catalog>, draining: boolean) => consumers.get(job)?.drain(draining),
    /** Hands over what runs and can continue on another worker without a loss. */
    handOver: (job: JobName<Catalog>) => consumers.get(job)?.handOver(),
    /** Resolves when no job of this name runs here. */
    idle: async (job: JobName<Catalog>) => consumers.get(job)?.idle(),
    /**
     * Fetches nothing more, lets running jobs finish for `graceMs`, then aborts them and hands back what did not
     * complete. Never throws, and ends soon after even during an outage. `hurry` ends the time to finish.
     */
    async stop({ graceMs, hurry }: { graceMs: number; hurry?: AbortSignal }): Promise<void> {
      stopping.abort()
      const finished = Promise.all([maintenance, ...[...consumers.values()].map((one) => one.finish())])
      if (!(await within(graceMs, finished, hurry))) {
        for (const consumer of consumers.values()) consumer.abort()
        await within(timings.abortGraceMs + timings.lastWritesMs, finished)
      }
      abandoning.abort()
      await within(timings.lastWritesMs, finished)
    },
  }
}
