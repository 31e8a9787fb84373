// Metrics as Prometheus reads them.
import { createMetrics } from '#ops/metrics/metrics.ts'
import type { InstallationState } from '#ops/metrics/read-state.ts'
import { createDatabaseFailures } from '#platform/database/failures.ts'

/** Samples by name and labels, as they are printed: `gantry_workers{state="online"}`. */
export type Samples = Map<string, number>

export function parseMetrics(text: string): Samples {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return new Map(
    lines.map((line) => {
      const end = line.lastIndexOf(' ')
      return [line.slice(0, end), Number(line.slice(end + 1))]
    }),
  )
}

export async function scrape(url: string, token: string): Promise<{ text: string; samples: Samples }> {
  const answer = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${token}` } })
  const text = await answer.text()
  if (answer.status !== 200) throw new Error(`/metrics answered ${answer.status}: ${text}`)
  return { text, samples: parseMetrics(text) }
}

export const IDLE: InstallationState = {
  queueDepths: [],
  oldestReadySeconds: null,
  newDeadLetters: 0,
  stalledEnvironments: 0,
  newestBackupAt: null,
  deliveries: { pending: 0, late: 0, failingHooks: 0, limited: [] },
  connections: [],
  workers: { online: 1, draining: 0 },
  targetsWithoutWorker: 0,
  targetsReconnecting: 0,
  serversLiveUnknown: 0,
  gates: [],
  retention: { runs: 0, logs: 0, requests: 0, bodies: 0, finished_at: null },
}

/** Metrics without a service around them. */
export function createTestMetrics() {
  const metrics = createMetrics('0.0.0-test')
  const process = {
    isReady: true,
    pool: { max: 10, open: 3, idle: 2, waiting: 0, failures: 0 },
    databaseFailures: createDatabaseFailures({ error: () => {} }).counts(),
    disk: { free: 1, size: 2 },
  }
  return {
    metrics,
    async read(installation: InstallationState | null = IDLE): Promise<Samples> {
      const sources = {
        installation: async () => {
          if (installation === null) throw new Error('the database is away')
          return installation
        },
        process: async () => process,
      }
      return parseMetrics(await metrics.read(sources))
    },
  }
}
