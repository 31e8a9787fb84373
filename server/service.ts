// The composition root: builds every component, passes each its dependencies, and shuts them down in reverse
// order. The only file that knows every room.
import type { AddressInfo } from 'node:net'
import type { FastifyBaseLogger } from 'fastify'
import { Client } from 'pg'
import { pruneTokens } from '#access/accounts/sessions.ts'
import { pruneAuthorizations } from '#access/command-line-login/authorizations.ts'
import { pruneAttempts } from '#access/single-sign-on/attempts.ts'
import { createConnect } from '#adapters/executors/connect.ts'
import { createHttpClient } from '#adapters/http-client/client.ts'
import { pruneCalls } from '#engine/incoming/prune.ts'
import { createCallReceiver } from '#engine/incoming/receive-call.ts'
import { readDeliveryDepths } from '#engine/outgoing/claim-deliveries.ts'
import { startDeliveryWorker } from '#engine/outgoing/deliver.ts'
import { openRunner } from '#engine/runner/runner.ts'
import { createEnqueue, scheduleActions, sweepSlots } from '#engine/scheduling/jobs.ts'
import { placeWaiting } from '#engine/scheduling/stranded-targets.ts'
import { createTree } from '#model/inventory/tree.ts'
import { startHeartbeat } from '#model/workers/heartbeat.ts'
import { assertSameKey } from '#ops/commands/same-key.ts'
import { type FirstStart, prepareFirstStart } from '#ops/first-start/first-start.ts'
import { buildHealthApp } from '#ops/operations/health-app.ts'
import { createMetrics } from '#ops/operations/metrics.ts'
import { defaultRetention } from '#ops/retention/policy.ts'
import { pruneOldData, readRetentionTotals } from '#ops/retention/prune.ts'
import { createAddressGuard } from '#platform/addresses/guard.ts'
import { createSshGuard } from '#platform/addresses/ssh-guard.ts'
import { baseUrlOf, type Config, guardUrl, urlAt } from '#platform/config.ts'
import { openKeyRing } from '#platform/crypto/key-ring.ts'
import { createSecretBox } from '#platform/crypto/secret-box.ts'
import { withQueryTimeout } from '#platform/database/client.ts'
import { type ConnectionSettings, checkDatabase, openDatabase } from '#platform/database/connect.ts'
import { startEmbeddedPostgres } from '#platform/database/embedded/start.ts'
import { openListener } from '#platform/database/listen.ts'
import { migrate } from '#platform/database/migrate.ts'
import { preflight } from '#platform/database/preflight.ts'
import { watchSchema } from '#platform/database/schema-watch.ts'
import { listDeadLetters } from '#platform/queue/dead-letters.ts'
import type { JobHandlers } from '#platform/queue/handler.ts'
import { type JobName, jobs } from '#platform/queue/jobs.ts'
import { installQueue, openQueue, QUEUE_CONNECTIONS } from '#platform/queue/open-queue.ts'
import { answerProbe, createProbe } from '#platform/queue/probe.ts'
import { within } from '#platform/queue/repeat.ts'
import { startWorker, type Worker } from '#platform/queue/worker.ts'
import { VERSION } from '#platform/version.ts'
import { countClosedBlocks } from '#views/actions/action-blocks.ts'
import { countEndedRuns } from '#views/dashboard/run-days.ts'
import { buildApp } from './app.ts'

/** Grace period for deliveries in flight when the service stops; after that they are handed back. */
const MAX_DELIVERY_GRACE_MS = 8_000

const LISTENERS = 1
/** For health checks, which ask often and must not pile up. */
const CHECK_MS = 2_000
const TARGETS = 'targets.run'

export type Service = {
  /** Undefined for a worker-only process. */
  url: string | undefined
  /** Where such a process tells how it is; undefined without GANTRY_WORKER_PORT. */
  healthUrl: string | undefined
  /** `hurry` ends the time that running work has. */
  stop(hurry?: AbortSignal): Promise<void>
}

export async function startService(
  config: Config,
  log: FastifyBaseLogger,
  say: (message: string) => void,
): Promise<Service> {
  // Whatever has started is stopped in reverse order: by stop(), or here when a later component fails to start.
  await using resources = new AsyncDisposableStack()
  const reportError = (part: string) => (error: Error) =>
    log.warn({ part, reason: error.message }, 'background error')

  const { settings, databaseUid } = await provideDatabase(config, say, resources)
  const database = openDatabase(settings, {
    max: config.databaseConnections,
    onIdleError: reportError('database'),
  })
  resources.defer(() => database.close())
  const { db } = database
  await migrate(db, { say })
  await installQueue(settings, jobs, config.heartbeatSeconds)
  const box = createSecretBox(await openKeyRing({ home: config.home, fromEnvironment: config.secretKey }))
  await assertSameKey(db, box)
  const sshGuard = createSshGuard({ targets: config.sshTargets })
  const {
    connect,
    refuseLocal,
    localIsolation,
    close: closeLocal,
  } = createConnect({
    databaseUid,
    sshGuard,
    socket: socketOf(settings),
    home: config.home,
    unsafeLocalSteps: config.unsafeLocalSteps,
  })
  resources.defer(closeLocal)
  // Printed right away: if a later component fails to start, the password would be lost.
  sayFirstStart(await prepareFirstStart(db, config, refuseLocal), say)

  const queue = await openQueue({ settings, onError: reportError('queue') })
  resources.defer(() => queue.close())

  const enqueue = createEnqueue(queue)

  const listener = await openListener(settings, { onError: reportError('listener') })
  resources.defer(() => listener.close())
  let pauseWork: (() => void) | undefined
  const schema = await watchSchema({
    db,
    listener,
    onChange(problem) {
      pauseWork?.()
      if (problem === null) log.info('working again: the schema was not migrated')
      else log.error(problem)
    },
    onError: reportError('schema'),
  })
  resources.defer(() => schema.close())

  let url: string | undefined
  const baseUrl = () => url ?? baseUrlOf(config, config.port)
  const guard = createAddressGuard({
    allowTargets: config.allowTargets,
    baseUrl: () => guardUrl(config, baseUrl()),
  })
  const http = createHttpClient({ guard, userAgent: `Gantry/${VERSION}` })
  resources.defer(() => http.close())

  let unrecordedDeliveries = 0
  let isStopping = false
  let hurry: AbortSignal | undefined
  let drain: (() => Promise<void>) | undefined
  if (config.role !== 'api') {
    // With the embedded database there is one worker, and its host name may change with every start.
    const workerName = config.databaseUrl === undefined ? undefined : config.workerName
    const runner = await openRunner({
      db,
      box,
      listener,
      home: config.home,
      connect,
      guard,
      enqueueTargets: enqueue.targets,
      workerName,
      log,
      onError: reportError('runner'),
    })
    const handlers: JobHandlers = {
      'actions.run': ({ action_ids }) => scheduleActions(db, action_ids, enqueue.targets),
      'targets.run': ({ target_id }, context) => runner.run(target_id, context),
      'scheduling.sweep': () => sweepSlots(db, enqueue.targets, reportError('scheduling')),
      'queue.probe': answerProbe,
      'accounts.prune-tokens': async () => {
        await pruneTokens(db)
        await pruneAttempts(db)
        await pruneAuthorizations(db)
      },
      'actions.count-blocks': async () => {
        await countClosedBlocks(db)
        await countEndedRuns(db)
      },
      'incoming.prune': () => pruneCalls(db, config.keepBodiesDays),
      'retention.prune': async (_, { signal }) => {
        const { keepBodiesDays } = config
        const removed = await pruneOldData(db, { defaults: defaultRetention(config), keepBodiesDays, signal })
        if (Object.values(removed).some((count) => count > 0)) log.info({ removed }, 'removed old data')
      },
    }
    // Together with the grace period of up to ten seconds, this stays below the 15-second limit for a stop.
    const beatMs = (config.heartbeatSeconds * 1_000) / 4
    const timings = { pollMs: config.pollMs, beatMs, abortGraceMs: 2_000, lastWritesMs: 1_000 }
    let worker: Worker | undefined
    let isDrained = false
    // A process that the schema has outgrown takes no jobs at all.
    const drainJobs = () => {
      const isOutgrown = schema.problem() !== null
      for (const job of Object.keys(handlers) as JobName[]) {
        worker?.drain(job, isOutgrown || (job === TARGETS && isDrained))
      }
    }
    pauseWork = drainJobs
    const place = () => placeWaiting(db, enqueue.targets, reportError('scheduling'))
    const heartbeat = await startHeartbeat(db, {
      name: workerName ?? null,
      version: VERSION,
      capacity: config.targetsPerWorker,
      runningTargets: () => worker?.running(TARGETS) ?? 0,
      isAlone: workerName === undefined,
      listener,
      onOnline: place,
      onDraining(draining) {
        isDrained = draining
        drainJobs()
        if (!draining) void place()
      },
      onError: reportError('workers'),
    })
    resources.defer(() => heartbeat.stop())
    // In parallel: one after the other would exceed the limit.
    const stops: (() => Promise<void>)[] = []
    resources.defer(async () => void (await Promise.all(stops.map((stop) => stop()))))
    const running = await startWorker({
      queue,
      listener,
      handlers,
      consumers: {
        [TARGETS]: {
          concurrency: config.targetsPerWorker,
          group: workerName,
          onRunning: heartbeat.touch,
        },
      },
      log,
      timings,
    })
    worker = running
    drainJobs()
    let graceMs = config.stopGraceMs
    stops.push(async () => {
      void heartbeat.leave()
      await running.stop({ graceMs, hurry })
    })
    drain = async () => {
      await heartbeat.leave()
      running.drain(TARGETS, true)
      const isIdle = await within(config.drainSeconds * 1_000, running.idle(TARGETS), hurry)
      // What has had its time gets no more.
      if (!isIdle) graceMs = 0
    }
    const deliveryWorker = await startDeliveryWorker({
      db,
      box,
      listener,
      sender: http,
      tree: createTree(db),
      baseUrl,
      log,
      pollMs: config.deliveryPollMs,
      isPaused: () => schema.problem() !== null,
      onUnrecorded: () => {
        unrecordedDeliveries += 1
      },
    })
    stops.push(() => deliveryWorker.stop({ graceMs: Math.min(config.stopGraceMs, MAX_DELIVERY_GRACE_MS) }))
  }

  const probe = createProbe({ queue })
  const metrics = createMetrics({
    queue,
    deliveries: () => readDeliveryDepths(db),
    unrecordedDeliveries: () => unrecordedDeliveries,
    retention: () => readRetentionTotals(db),
    version: VERSION,
  })
  const health = {
    refusal: schema.problem,
    checkDatabase: () => withQueryTimeout(CHECK_MS, () => checkDatabase(db)),
    isQueueWorking: async () => !isStopping && (await probe.isWorking()),
    metrics: () => metrics.read(),
    deadLetters: (limit: number) => listDeadLetters(queue, { limit }),
  }
  let healthUrl: string | undefined
  if (config.role === 'worker' && config.workerPort !== null) {
    const { metricsToken } = config
    const app = await buildHealthApp({ db, health, metricsToken, version: VERSION, baseUrl, log })
    resources.defer(() => app.close())
    await app.listen({ host: config.host, port: config.workerPort })
    healthUrl = urlAt(config.host, (app.server.address() as AddressInfo).port)
  }
  if (config.role !== 'worker') {
    const calls = await createCallReceiver({
      db,
      box,
      listener,
      onError: reportError('incoming'),
    })
    resources.defer(() => calls.close())
    const app = await buildApp({
      config,
      db,
      listener,
      box,
      calls,
      guard,
      sshGuard,
      connect,
      refuseLocal,
      localIsolation,
      poolState: database.poolState,
      http,
      enqueue,
      version: VERSION,
      log,
      baseUrl,
      health,
    })
    resources.defer(() => app.close())
    await app.listen({ host: config.host, port: config.port })
    url = baseUrlOf(config, (app.server.address() as AddressInfo).port)
  }

  const running = resources.move()
  return {
    url,
    healthUrl,
    async stop(signal) {
      isStopping = true
      hurry = signal
      // Meanwhile the API answers, and hook calls are stored.
      if (config.drainSeconds > 0) await drain?.()
      await running.disposeAsync()
    },
  }
}

function sayFirstStart(start: FirstStart, say: (message: string) => void): void {
  if (start.kind === 'not-the-first') return
  const password =
    start.generatedPassword === null ? '' : ` with the password ${start.generatedPassword} (shown this once)`
  say(`first start: log in as ${start.email}${password}`)
  if (start.missingServer !== null)
    say(`first start: the sample has no server to deploy to. ${start.missingServer}`)
}

/** Local commands must not reach it. */
function socketOf(settings: ConnectionSettings): { folder: string; port: number } | null {
  const { host, port } = new Client(settings)
  return host.startsWith('/') ? { folder: host, port } : null
}

async function provideDatabase(
  config: Config,
  say: (message: string) => void,
  resources: AsyncDisposableStack,
): Promise<{ settings: ConnectionSettings; databaseUid: number | null }> {
  if (config.databaseUrl !== undefined) {
    const settings = { connectionString: config.databaseUrl }
    await preflight(settings, {
      connections: config.databaseConnections + QUEUE_CONNECTIONS + LISTENERS,
      warn: say,
    })
    return { settings, databaseUid: null }
  }
  const embedded = await startEmbeddedPostgres({ home: config.home, say })
  resources.defer(() => embedded.stop())
  return { settings: embedded.connection, databaseUid: embedded.uid }
}
