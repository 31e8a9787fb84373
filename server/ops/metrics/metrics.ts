// The metrics room: what `/metrics` shows, in the Prometheus text format. Counters of what this process did
// (work-metrics.ts), and its state and that of the installation, read for each scrape (state-metrics.ts).
import { collectDefaultMetrics, Registry } from 'prom-client'
import type { InstallationState, ProcessState } from './read-state.ts'
import { createInstallationMetrics, createProcessMetrics, metricsIn } from './state-metrics.ts'
import { createWorkMetrics } from './work-metrics.ts'

export type MetricSources = {
  /** Rejects when the database is away: then the metrics of the process are all there is, and it is not ready. */
  installation: () => Promise<InstallationState>
  process: () => Promise<ProcessState>
}

export type Metrics = ReturnType<typeof createMetrics>

/** One per process. The counters of `work` are for the rooms that do the work. */
export function createMetrics(version: string) {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, prefix: 'gantry_' })
  // Gauges with the names of counters: the sums of `gantry_nodejs_active_…`.
  for (const what of ['handles', 'requests', 'resources'])
    registry.removeSingleMetric(`gantry_nodejs_active_${what}_total`)
  metricsIn(registry).gauge('build_info', 'The running version.', ['version']).set({ version }, 1)
  const work = createWorkMetrics(registry)
  const showInstallation = createInstallationMetrics(registry)
  const showProcess = createProcessMetrics(registry)
  return {
    work,
    async read(sources: MetricSources): Promise<string> {
      const [installation, process] = await Promise.all([
        sources.installation().catch(() => null),
        sources.process(),
      ])
      showInstallation(installation)
      showProcess({ ...process, isReady: process.isReady && installation !== null })
      return registry.metrics()
    },
  }
}
