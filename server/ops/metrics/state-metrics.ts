import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import { CONNECTION_STATES } from '#model/connections/judge.ts'
import type { InstallationState, ProcessState } from './read-state.ts'

/** Labels are few: further origins share one. */
export const MAX_ORIGINS = 20
export const OTHER = 'other'

/** Creates metrics of Gantry in a registry. */
export function metricsIn(registry: Registry) {
  const options = <Label extends string>(name: string, help: string, labelNames: Label[]) => ({
    name: `gantry_${name}`,
    help,
    labelNames,
    registers: [registry],
  })
  return {
    gauge: <Label extends string>(name: string, help: string, labels: Label[] = []) =>
      new Gauge(options(name, help, labels)),
    counter: <Label extends string>(name: string, help: string, labels: Label[] = []) =>
      new Counter(options(name, help, labels)),
    histogram: <Label extends string>(name: string, help: string, buckets: number[], labels: Label[] = []) =>
      new Histogram({ ...options(name, help, labels), buckets }),
  }
}

/** What every process shows alike. Null: the database is away, and nothing is shown. */
export function createInstallationMetrics(registry: Registry) {
  const { gauge, counter } = metricsIn(registry)
  const jobs = gauge('queue_jobs', 'Jobs of the whole installation, by name and state.', ['job', 'state'])
  const oldest = gauge('queue_oldest_ready_seconds', 'How long the oldest job that is ready has waited.')
  const newDead = gauge('dead_letters_new', 'Jobs that failed their last attempt within the last hour.')
  const stalled = gauge(
    'environments_stalled',
    'Environments where work waits and nothing has completed for ten minutes.',
  )
  const backup = gauge(
    'backup_last_success_timestamp_seconds',
    'When the newest recorded backup was made; 0 before the first one.',
  )
  const deliveries = gauge(
    'deliveries',
    'Deliveries of the whole installation that are pending; late ones are overdue.',
    ['state'],
  )
  const failing = gauge('failing_hooks', 'Outgoing hooks whose receiver failed and has not succeeded since.')
  const connections = gauge(
    'hook_connections',
    'Hooks that are connected to a repository, by the state of the connection.',
    ['state'],
  )
  const limited = gauge(
    'rate_limited_deliveries',
    'Deliveries that wait because a service has reached its rate limit, by origin.',
    ['origin'],
  )
  const workers = gauge('workers', 'Workers that are online; draining ones take no new targets.', ['state'])
  const withoutWorker = gauge('targets_without_worker', 'Targets that wait because no worker can take them.')
  const reconnecting = gauge(
    'targets_reconnecting',
    'Targets whose server or worker was lost while a step runs.',
  )
  const liveUnknown = gauge(
    'servers_live_unknown',
    'Servers whose live release is unknown, counted once per application.',
  )
  const atGate = gauge('actions_at_gate', 'Runs that wait at a closed gate, without a slot.', ['gate'])
  const oldestAtGate = gauge(
    'actions_at_gate_oldest_seconds',
    'How long ago the oldest run that waits at a gate was created; 0 without one.',
    ['gate'],
  )
  const finished = gauge(
    'retention_finished_timestamp_seconds',
    'When the removal of old data last reached its end; 0 before the first time.',
  )
  const removed = counter(
    'retention_removed_total',
    'What the whole installation has removed because of its age: runs, logs of runs, hook requests, bodies.',
    ['kind'],
  )

  return (state: InstallationState | null): void => {
    for (const metric of [jobs, deliveries, connections, limited, workers, atGate, oldestAtGate, removed])
      metric.reset()
    for (const metric of [
      oldest,
      newDead,
      stalled,
      backup,
      failing,
      withoutWorker,
      reconnecting,
      liveUnknown,
      finished,
    ])
      metric.remove()
    if (state === null) return
    for (const { job, ...states } of state.queueDepths)
      for (const [name, count] of Object.entries(states)) jobs.set({ job, state: name }, count)
    oldest.set(state.oldestReadySeconds ?? 0)
    newDead.set(state.newDeadLetters)
    stalled.set(state.stalledEnvironments)
    backup.set(secondsOf(state.newestBackupAt))
    deliveries.set({ state: 'pending' }, state.deliveries.pending)
    deliveries.set({ state: 'late' }, state.deliveries.late)
    failing.set(state.deliveries.failingHooks)
    for (const name of CONNECTION_STATES) connections.set({ state: name }, 0)
    for (const { state: name, hooks } of state.connections) connections.set({ state: name }, hooks)
    limited.set({ origin: OTHER }, 0)
    for (const [place, { origin, deliveries: count }] of state.deliveries.limited.entries())
      limited.inc({ origin: place < MAX_ORIGINS ? origin : OTHER }, count)
    workers.set({ state: 'online' }, state.workers.online)
    workers.set({ state: 'draining' }, state.workers.draining)
    withoutWorker.set(state.targetsWithoutWorker)
    reconnecting.set(state.targetsReconnecting)
    liveUnknown.set(state.serversLiveUnknown)
    for (const { gate, runs, oldestSeconds } of state.gates) {
      atGate.set({ gate }, runs)
      oldestAtGate.set({ gate }, oldestSeconds)
    }
    const { finished_at, ...counts } = state.retention
    finished.set(secondsOf(finished_at))
    for (const [kind, count] of Object.entries(counts)) removed.inc({ kind }, count)
  }
}

const secondsOf = (moment: string | null) => (moment === null ? 0 : Date.parse(moment) / 1_000)

export function createProcessMetrics(registry: Registry) {
  const { gauge, counter } = metricsIn(registry)
  const ready = gauge('ready', 'Whether `/readyz` is green: 1, or 0.')
  const maxConnections = gauge(
    'database_pool_max_connections',
    'How many connections the pool of this process may open.',
  )
  const connections = gauge('database_pool_connections', 'Open connections of the pool: in use, or idle.', [
    'state',
  ])
  const waiting = gauge('database_pool_waiting', 'Requests that wait for a connection.')
  const failures = counter(
    'database_connection_failures_total',
    'Connections that could not be opened, or were lost.',
  )
  const failuresByKind = counter(
    'database_failures_total',
    'Statements and connections that failed because of the state of the database, by kind.',
    ['kind'],
  )
  const free = gauge('home_free_bytes', 'Free space on the disk of GANTRY_HOME.')
  const size = gauge('home_size_bytes', 'Size of the disk of GANTRY_HOME.')

  return ({ isReady, pool, databaseFailures, disk }: ProcessState): void => {
    ready.set(isReady ? 1 : 0)
    maxConnections.set(pool.max)
    connections.set({ state: 'used' }, pool.open - pool.idle)
    connections.set({ state: 'idle' }, pool.idle)
    waiting.set(pool.waiting)
    failures.reset()
    failures.inc(pool.failures)
    failuresByKind.reset()
    for (const [kind, count] of Object.entries(databaseFailures)) failuresByKind.inc({ kind }, count)
    for (const metric of [free, size]) metric.remove()
    if (disk === null) return
    free.set(disk.free)
    size.set(disk.size)
  }
}
