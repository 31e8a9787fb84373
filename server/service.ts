// The composition root: builds every component, passes each its dependencies, and shuts them down in reverse
// order. With `work.ts`, the only file that knows every room.
import type { AddressInfo } from 'node:net'
import type { FastifyBaseLogger } from 'fastify'
import { Client } from 'pg'
import { createConnect } from '#adapters/executors/connect.ts'
import { createHttpClient } from '#adapters/http-client/client.ts'
import { CALL_CONNECTIONS } from '#engine/incoming/call-connections.ts'
import { type CallReceiver, createCallReceiver } from '#engine/incoming/receive-call.ts'
import type { OnMoves } from '#engine/scheduling/committed-moves.ts'
import { createEnqueue } from '#engine/scheduling/jobs.ts'
import { requestChecks } from '#model/connections/stored-connections.ts'
import { assertSameKey } from '#ops/commands/same-key.ts'
import { type FirstStart, prepareFirstStart } from '#ops/first-start/first-start.ts'
import { createMetrics } from '#ops/metrics/metrics.ts'
import { readDisk, readInstallation } from '#ops/metrics/read-state.ts'
import { buildHealthApp } from '#ops/operations/health-app.ts'
import { findUnready, type ReadinessSigns } from '#ops/operations/readiness.ts'
import { createAddressGuard } from '#platform/addresses/guard.ts'
import { createSshGuard } from '#platform/addresses/ssh-guard.ts'
import { baseUrlOf, type Config, guardUrl, urlAt } from '#platform/config.ts'
import { openKeyRing } from '#platform/crypto/key-ring.ts'
import { createSecretBox } from '#platform/crypto/secret-box.ts'
import { withQueryTimeout } from '#platform/database/client.ts'
import { type ConnectionSettings, openDatabase } from '#platform/database/connect.ts'
import { createDiskWatch } from '#platform/database/disk-full.ts'
import type { EmbeddedPostgres } from '#platform/database/embedded/start.ts'
import { reasonOf } from '#platform/database/error-code.ts'
import { createDatabaseFailures } from '#platform/database/failures.ts'
import { openListener } from '#platform/database/listen.ts'
import { createLockReport } from '#platform/database/lock-waits.ts'
import { migrate } from '#platform/database/migrate.ts'
import { preflight } from '#platform/database/preflight.ts'
import { reserveConnection } from '#platform/database/reserve-connection.ts'
import { watchSchema } from '#platform/database/schema-watch.ts'
import { listDeadLetters } from '#platform/queue/dead-letters.ts'
import { jobs } from '#platform/queue/jobs.ts'
import { installQueue, openQueue, QUEUE_CONNECTIONS } from '#platform/queue/open-queue.ts'
import { createProbe } from '#platform/queue/probe.ts'
import type { EndedRun } from '#platform/terminal-log.ts'
import { VERSION } from '#platform/version.ts'
import { buildApp } from './app.ts'
import { startWork, type Work } from './work.ts'

const LISTENERS = 1
/** One for health checks and metrics, one for the heartbeats of a worker. */
const RESERVED = { api: 1, worker: 2, all: 2 }
/** For health checks, which ask often and must not pile up. */
const CHECK_MS = 2_000
/** Prometheus waits for ten seconds. */
const SCRAPE_MS = 5_000

export type Service = Awaited<ReturnType<typeof startService>>

type Outputs = {
  log: FastifyBaseLogger
  print: (message: string) => void
  /** Called for every run that ends in this process. */
  onRun: ((run: EndedRun, baseUrl: string) => void) | undefined
}

/** `embedded`: the database, unless there is a DATABASE_URL. The service stops it. */
export async function startService(
  config: Config,
  { log, print, onRun }: Outputs,
  embedded: Promise<EmbeddedPostgres> | undefined,
) {
  // Whatever has started is stopped in reverse order: by stop(), or here when a later component fails to start.
  await using resources = new AsyncDisposableStack()
  const reportError = (part: string) => (error: Error) =>
    log.warn({ part, ...reasonOf(error) }, 'background error')

  const failures = createDatabaseFailures(log)
  const { connection, databaseUid } = await provideDatabase(config, print, embedded, resources)
  const settings: ConnectionSettings = { ...connection, onError: failures.record }
  const reserved = await reserveConnection(settings, {
    onIdleError: reportError('health'),
    acceptsReadOnly: true,
  })
  resources.defer(() => reserved.close())
  const database = openDatabase(settings, {
    max: config.databaseConnections,
    onIdleError: reportError('database'),
    onWait: createLockReport(reserved.db, log, reportError('database')),
  })
  resources.defer(() => database.close())
  const { db } = database
  await migrate(db, { print })
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
  printFirstStart(await prepareFirstStart(db, config, refuseLocal), print)

  const queue = await openQueue({ settings, onError: reportError('queue') })
  resources.defer(() => queue.close())

  const enqueue = createEnqueue(queue)

  const listener = await openListener(settings, { onError: reportError('listener') })
  resources.defer(() => listener.close())
  let work: Work | undefined
  const schema = await watchSchema({
    db,
    listener,
    onChange(problem) {
      work?.pauseOrResume()
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

  const shared = { config, db, box, listener, enqueue, connect, guard, http, baseUrl, log }
  const metrics = createMetrics(VERSION)
  const onMoves: OnMoves = (moves) => {
    metrics.work.onMoves(moves)
    for (const run of moves.ended) onRun?.(run, baseUrl())
  }
  let calls: CallReceiver | undefined
  let isStopping = false
  let hurry: AbortSignal | undefined
  if (config.role !== 'api') {
    work = await startWork({
      ...shared,
      settings,
      queue,
      mayWork: () => schema.problem() === null,
      onError: reportError,
      metrics: { ...metrics.work, onMoves },
    })
    resources.defer(() => work?.stop(hurry))
  }

  const poolState = () => {
    const { failures, ...state } = database.poolState()
    return { ...state, failures: failures + (calls?.connectionFailures() ?? 0) }
  }
  const { isWorking: isQueueWorking } = createProbe({ queue, db: reserved.db })
  const signs: ReadinessSigns = {
    refusal: schema.problem,
    isStopping: () => isStopping,
    checkDatabase: () => withQueryTimeout(CHECK_MS, reserved.check),
    ...createDiskWatch(reserved.db, failures),
    isQueueWorking,
  }
  const health = {
    ...signs,
    metrics: () =>
      metrics.read({
        installation: () => withQueryTimeout(SCRAPE_MS, () => readInstallation(reserved.db)),
        process: async () => ({
          isReady: (await findUnready(signs).catch(() => undefined)) === null,
          pool: poolState(),
          databaseFailures: failures.counts(),
          disk: await readDisk(config.home),
        }),
      }),
    deadLetters: (limit: number) => listDeadLetters(queue, limit),
  }
  let healthUrl: string | undefined
  if (config.role === 'worker' && config.workerPort !== null) {
    const { metricsToken } = config
    const app = await buildHealthApp({
      db,
      reserved: reserved.db,
      health,
      metricsToken,
      version: VERSION,
      baseUrl,
      log,
    })
    resources.defer(() => app.close())
    await app.listen({ host: config.host, port: config.workerPort })
    healthUrl = urlAt(config.host, (app.server.address() as AddressInfo).port)
  }
  if (config.role !== 'worker') {
    calls = await createCallReceiver({
      db,
      settings,
      box,
      listener,
      onError: reportError('incoming'),
      onCall: metrics.work.onCall,
      onMoves,
    })
    resources.defer(() => calls?.close())
    const app = await buildApp({
      ...shared,
      reserved: reserved.db,
      calls,
      sshGuard,
      refuseLocal,
      localIsolation,
      poolState,
      onMoves,
      version: VERSION,
      health,
    })
    resources.defer(() => app.close())
    await app.listen({ host: config.host, port: config.port })
    url = baseUrlOf(config, (app.server.address() as AddressInfo).port)
  }

  const catchUp = () => void requestChecks(db).catch(reportError('connecting'))
  await listener.subscribe('tree', { onNotify: () => {}, onReconnect: catchUp })
  catchUp()

  const running = resources.move()
  return {
    /** Undefined for a worker-only process. */
    url,
    /** Where such a process tells how it is; undefined without GANTRY_WORKER_PORT. */
    healthUrl,
    /** `signal` ends the time that running work has. */
    async stop(signal?: AbortSignal): Promise<void> {
      isStopping = true
      hurry = signal
      // Meanwhile the API answers, and hook calls are stored.
      if (config.drainSeconds > 0) await work?.drain(hurry)
      await running.disposeAsync()
    },
  }
}

function printFirstStart(start: FirstStart, print: (message: string) => void): void {
  if (start.kind === 'not-the-first') return
  const password =
    start.generatedPassword === null ? '' : ` with the password ${start.generatedPassword} (shown this once)`
  print(`first start: log in as ${start.email}${password}`)
  if (start.missingServer !== null)
    print(`first start: the sample has no server to deploy to. ${start.missingServer}`)
}

/** Local commands must not reach it. */
function socketOf(settings: ConnectionSettings): { folder: string; port: number } | null {
  const { host, port } = new Client(settings)
  return host.startsWith('/') ? { folder: host, port } : null
}

async function provideDatabase(
  config: Config,
  print: (message: string) => void,
  embedded: Promise<EmbeddedPostgres> | undefined,
  resources: AsyncDisposableStack,
): Promise<{ connection: ConnectionSettings; databaseUid: number | null }> {
  if (embedded === undefined) {
    const connection = { connectionString: config.databaseUrl }
    await preflight(connection, {
      connections: connectionsOf(config),
      warn: print,
    })
    return { connection, databaseUid: null }
  }
  const { connection, uid, stop } = await embedded
  resources.defer(stop)
  return { connection, databaseUid: uid }
}

/** How many this process opens at most. */
function connectionsOf({ role, databaseConnections }: Config): number {
  const forCalls = role === 'worker' ? 0 : CALL_CONNECTIONS
  return databaseConnections + forCalls + QUEUE_CONNECTIONS + LISTENERS + RESERVED[role]
}
