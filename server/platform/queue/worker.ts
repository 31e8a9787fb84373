import type { Listener } from '#platform/database/listen.ts'
import { createOutageRetrier } from '#platform/database/outages.ts'
import { type Consumer, startConsumer } from './consumer.ts'
import { DEFAULT_TIMINGS, type Log, WAKE_CHANNEL, type WorkerDeps, type WorkerTimings } from './core.ts'
import type { JobHandler, JobHandlers } from './handler.ts'
import type { JobCatalog, Jobs } from './jobs.ts'
import { runMaintenance } from './maintenance.ts'
import type { Queue } from './open-queue.ts'
import { within } from './repeat.ts'

export type Worker = Awaited<ReturnType<typeof startWorker>>

/** Runs the jobs that this process has handlers for. */
export async function startWorker<Catalog extends JobCatalog = Jobs>(options: {
  queue: Queue<Catalog>
  listener: Listener
  handlers: JobHandlers<Catalog>
  log: Log
  timings?: Partial<WorkerTimings>
}) {
  const { queue, log } = options
  const timings = { ...DEFAULT_TIMINGS, ...options.timings }
  const retry = createOutageRetrier(log, { firstDelayMs: 200 })
  const abandoning = new AbortController()
  const deps: WorkerDeps = { queue, retry, log, timings, abandon: abandoning.signal }
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
    consumers.set(job, startConsumer(deps, job, handler))
  }
  const maintenance = runMaintenance(deps, stopping.signal)

  return {
    /**
     * Fetches nothing more, lets running jobs finish for `graceMs`, then aborts them and hands back what did not
     * complete. Never throws, and ends soon after even during an outage.
     */
    async stop({ graceMs }: { graceMs: number }): Promise<void> {
      stopping.abort()
      const finished = Promise.all([maintenance, ...[...consumers.values()].map((one) => one.finish())])
      if (!(await within(graceMs, finished))) {
        for (const consumer of consumers.values()) consumer.abort()
        await within(timings.abortGraceMs + timings.lastWritesMs, finished)
      }
      abandoning.abort()
      await within(timings.lastWritesMs, finished)
    },
  }
}
