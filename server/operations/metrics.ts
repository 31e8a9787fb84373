import { collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import type { QueueCore } from '#queue/core.ts'
import { readQueueDepths } from '#queue/queue-depths.ts'

/** What this process can say about itself and the queue, in Prometheus' text form. */
export function createMetrics({ queue, version }: { queue: QueueCore; version: string }): {
  read(): Promise<string>
} {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, prefix: 'gantry_' })
  new Gauge({
    name: 'gantry_build_info',
    help: 'The running version.',
    labelNames: ['version'],
    registers: [registry],
  }).set({ version }, 1)
  new Gauge({
    name: 'gantry_queue_jobs',
    help: 'Jobs of the whole installation, by name and state.',
    labelNames: ['job', 'state'],
    registers: [registry],
    async collect() {
      for (const { job, ...states } of await readQueueDepths(queue)) {
        for (const [state, count] of Object.entries(states)) this.set({ job, state }, count)
      }
    },
  })
  return { read: () => registry.metrics() }
}
