// The composition root: builds every part, hands each what it needs, and takes all of it down again in
// reverse. The only place that knows everyone.
import { readFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import type { FastifyBaseLogger } from 'fastify'
import { sql } from 'kysely'
import { pruneTokens } from '#access/accounts/sessions.ts'
import { createConnect } from '#adapters/executors/connect.ts'
import { createHttpClient } from '#adapters/http-client/client.ts'
import { pruneCalls } from '#engine/incoming/prune.ts'
import { createCallReceiver } from '#engine/incoming/receive-call.ts'
import { readDeliveryDepths } from '#engine/outgoing/claim-deliveries.ts'
import { startDeliveryWorker } from '#engine/outgoing/deliver.ts'
import { openRunner } from '#engine/runner/runner.ts'
import { createEnqueue, scheduleActions, sweepSlots } from '#engine/scheduling/jobs.ts'
import { createTree } from '#model/inventory/tree.ts'
import { assertSameKey } from '#ops/commands/same-key.ts'
import { type FirstStart, prepareFirstStart } from '#ops/first-start/first-start.ts'
import { createMetrics } from '#ops/operations/metrics.ts'
import { createAddressGuard } from '#platform/addresses/guard.ts'
import { baseUrlOf, type Config, guardUrl } from '#platform/config.ts'
import { openKeyRing } from '#platform/crypto/key-ring.ts'
import { createSecretBox } from '#platform/crypto/secret-box.ts'
import { assertSupportedServer, type ConnectionSettings, openDatabase } from '#platform/database/connect.ts'
import { startEmbeddedPostgres } from '#platform/database/embedded/start.ts'
import { openListener } from '#platform/database/listen.ts'
import { migrate } from '#platform/database/migrate.ts'
import { listDeadLetters } from '#platform/queue/dead-letters.ts'
import type { JobHandlers } from '#platform/queue/handler.ts'
import { jobs } from '#platform/queue/jobs.ts'
import { installQueue, openQueue } from '#platform/queue/open-queue.ts'
import { answerProbe, createProbe } from '#platform/queue/probe.ts'
import { startWorker } from '#platform/queue/worker.ts'
import { countClosedBlocks } from '#views/actions/action-blocks.ts'
import { countEndedRuns } from '#views/dashboard/run-days.ts'
import { startHeartbeat } from '#views/dashboard/workers.ts'
import { buildApp } from './app.ts'

/** For requests that are under way when a stop is asked for; after that they are handed back. */
const LONGEST_SENDING_MS = 8_000

export type Service = {
  /** Undefined for a process that only works. */
  url: string | undefined
  stop(): Promise<void>
}

export async function startService(
  config: Config,
  log: FastifyBaseLogger,
  say: (message: string) => void,
): Promise<Service> {
  // What was started is stopped in reverse: by stop(), or here when a later part fails.
  await using resources = new AsyncDisposableStack()
  const fault = (part: string) => (error: Error) =>
    log.warn({ part, reason: error.message }, 'a background part met an error')

  const { settings, databaseUid } = await provideDatabase(config, say, resources)
  const database = openDatabase(settings, { max: config.databaseConnections, onIdleError: fault('database') })
  resources.defer(() => database.close())
  const { db } = database
  await migrate(db)
  await installQueue(settings, jobs, config.heartbeatSeconds)
  const box = createSecretBox(await openKeyRing({ home: config.home, fromEnvironment: config.secretKey }))
  await assertSameKey(db, box)
  // Said at once: should a later part fail, the password would be lost.
  sayFirstStart(await prepareFirstStart(db, config), say)

  const queue = await openQueue({ settings, onError: fault('queue') })
  resources.defer(() => queue.close())

  const enqueue = createEnqueue(queue)

  const listener = await openListener(settings, { onError: fault('listener') })
  resources.defer(() => listener.close())

  let url: string | undefined
  const baseUrl = () => url ?? baseUrlOf(config, config.port)
  const guard = createAddressGuard({
    allowTargets: config.allowTargets,
    baseUrl: () => guardUrl(config, baseUrl()),
  })
  const { version } = JSON.parse(await readFile(new URL('../package.json', import.meta.url), 'utf8'))
  const http = createHttpClient({ guard, userAgent: `Gantry/${version}` })
  resources.defer(() => http.close())
  const { connect, close: closeLocal } = createConnect({ databaseUid })
  resources.defer(closeLocal)

  let unrecordedDeliveries = 0
  if (config.role !== 'api') {
    const runner = await openRunner({
      db,
      box,
      listener,
      home: config.home,
      connect,
      guard,
      enqueueTargets: enqueue.targets,
      log,
      onError: fault('runner'),
    })
    const handlers: JobHandlers = {
      'actions.run': ({ action_ids }) => scheduleActions(db, action_ids, enqueue.targets),
      'targets.run': ({ target_id }, context) => runner.run(target_id, context),
      'scheduling.sweep': () => sweepSlots(db, enqueue.targets, fault('scheduling')),
      'queue.probe': answerProbe,
      'accounts.prune-tokens': () => pruneTokens(db),
      'actions.count-blocks': async () => {
        await countClosedBlocks(db)
        await countEndedRuns(db)
      },
      'incoming.prune': () => pruneCalls(db, config.keepBodiesDays),
    }
    // Together with the grace of ten seconds this stays below the fifteen in which a stop must be over.
    const beatMs = (config.heartbeatSeconds * 1_000) / 4
    const timings = { pollMs: config.pollMs, beatMs, abortGraceMs: 2_000, lastWritesMs: 1_000 }
    const beating = await startHeartbeat(db, { onError: fault('workers') })
    resources.defer(() => beating.stop())
    // At the same time: one after the other they would take too long together.
    const stops: (() => Promise<void>)[] = []
    resources.defer(async () => void (await Promise.all(stops.map((stop) => stop()))))
    const worker = await startWorker({ queue, listener, handlers, log, timings })
    stops.push(() => worker.stop({ graceMs: config.stopGraceMs }))
    const delivering = await startDeliveryWorker({
      db,
      box,
      listener,
      sender: http,
      tree: createTree(db),
      baseUrl,
      log,
      pollMs: config.deliveryPollMs,
      onUnrecorded: () => {
        unrecordedDeliveries += 1
      },
    })
    stops.push(() => delivering.stop({ graceMs: Math.min(config.stopGraceMs, LONGEST_SENDING_MS) }))
  }

  if (config.role !== 'worker') {
    const probe = createProbe({ queue })
    const metrics = createMetrics({
      queue,
      deliveries: () => readDeliveryDepths(db),
      unrecordedDeliveries: () => unrecordedDeliveries,
      version,
    })
    const calls = await createCallReceiver({
      db,
      box,
      listener,
      onError: fault('incoming'),
    })
    resources.defer(() => calls.close())
    const app = await buildApp({
      config,
      db,
      listener,
      box,
      calls,
      guard,
      connect,
      http,
      enqueue,
      version,
      log,
      baseUrl,
      health: {
        checkDatabase: async () => void (await sql`select 1`.execute(db)),
        isQueueWorking: () => probe.isWorking(),
        metrics: () => metrics.read(),
        deadLetters: (limit) => listDeadLetters(queue, { limit }),
      },
    })
    resources.defer(() => app.close())
    await app.listen({ host: config.host, port: config.port })
    url = baseUrlOf(config, (app.server.address() as AddressInfo).port)
  }

  const running = resources.move()
  return { url, stop: () => running.disposeAsync() }
}

function sayFirstStart(start: FirstStart, say: (message: string) => void): void {
  if (start.kind === 'not-the-first') return
  const password =
    start.generatedPassword === null ? '' : ` with the password ${start.generatedPassword} (shown this once)`
  say(`first start: log in as ${start.email}${password}`)
}

async function provideDatabase(
  config: Config,
  say: (message: string) => void,
  resources: AsyncDisposableStack,
): Promise<{ settings: ConnectionSettings; databaseUid: number | null }> {
  if (config.databaseUrl !== undefined) {
    const settings = { connectionString: config.databaseUrl }
    await assertSupportedServer(settings)
    return { settings, databaseUid: null }
  }
  const embedded = await startEmbeddedPostgres({ home: config.home, say })
  resources.defer(() => embedded.stop())
  return { settings: embedded.connection, databaseUid: embedded.uid }
}
