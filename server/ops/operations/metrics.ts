import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import type { QueueCore } from '#platform/queue/core.ts'
import { readQueueDepths } from '#platform/queue/queue-depths.ts'

export type MetricSources = {
  queue: Pick<QueueCore, 'db' | 'jobs'>
  deliveries: () => Promise<{ pending: number; late: number; failingHooks: number }>
  /** Deliveries that this process marked as failed because their attempt could not be stored. */
  unrecordedDeliveries: () => number
  retention: () => Promise<
    Record<'runs' | 'logs' | 'requests' | 'bodies', number> & { finished_at: string | null }
  >
  version: string
}

/** Metrics of this process, the queue and deliveries, in the Prometheus text format. */
export function createMetrics(sources: MetricSources): { read(): Promise<string> } {
  const { queue, deliveries, unrecordedDeliveries, retention, version } = sources
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
  new Gauge({
    name: 'gantry_deliveries',
    help: 'Deliveries of the whole installation that are pending; late ones are overdue.',
    labelNames: ['state'],
    registers: [registry],
    async collect() {
      const { pending, late } = await deliveries()
      this.set({ state: 'pending' }, pending)
      this.set({ state: 'late' }, late)
    },
  })
  new Gauge({
    name: 'gantry_failing_hooks',
    help: 'Outgoing hooks whose receiver failed and has not succeeded since.',
    registers: [registry],
    async collect() {
      this.set((await deliveries()).failingHooks)
    },
  })
  new Counter({
    name: 'gantry_unrecorded_deliveries_total',
    help: 'Deliveries that this process marked as failed because their attempt could not be stored.',
    registers: [registry],
    collect() {
      this.reset()
      this.inc(unrecordedDeliveries())
    },
  })
  new Counter({
    name: 'gantry_retention_removed_total',
    help: 'What the whole installation has removed because of its age: runs, logs of runs, hook requests, bodies.',
    labelNames: ['kind'],
    registers: [registry],
    async collect() {
      const { finished_at: _, ...removed } = await retention()
      this.reset()
      for (const [kind, count] of Object.entries(removed)) this.inc({ kind }, count)
    },
  })
  new Gauge({
    name: 'gantry_retention_finished_timestamp_seconds',
    help: 'When the removal of old data last reached its end; 0 before the first time.',
    registers: [registry],
    async collect() {
      const { finished_at } = await retention()
      this.set(finished_at === null ? 0 : Date.parse(finished_at) / 1_000)
    },
  })
  return { read: () => registry.metrics() }
}
