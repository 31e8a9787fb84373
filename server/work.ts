// What a process with a worker does: jobs, deliveries, and the heartbeat by which others know it. Only this file knows
// which function handles which job.

import { join } from 'node:path'
import type { FastifyBaseLogger } from 'fastify'
import { pruneTokens } from '#access/accounts/sessions.ts'
import { pruneAuthorizations } from '#access/command-line-login/authorizations.ts'
import { pruneDeviceCodes } from '#access/command-line-login/device-codes.ts'
import { pruneAttempts } from '#access/single-sign-on/attempts.ts'
import type { Connect } from '#adapters/executors/connect.ts'
import type { HttpClient } from '#adapters/http-client/client.ts'
import type { ReadTips } from '#adapters/repositories/read-tips.ts'
import { createRepositories } from '#adapters/repositories/repositories.ts'
import { startChecking } from '#engine/checks/checks-loop.ts'
import { recheck } from '#engine/checks/recheck.ts'
import { startConnecting } from '#engine/connecting/connecting.ts'
import { countClosedBlocks } from '#engine/counts/action-blocks.ts'
import { countEndedRuns } from '#engine/counts/run-days.ts'
import { startApproving } from '#engine/gates/approval-loop.ts'
import { recountApprovals } from '#engine/gates/recount-approvals.ts'
import { startReleasing } from '#engine/gates/release-loop.ts'
import { pruneCalls } from '#engine/incoming/prune.ts'
import { startDeliveryWorker } from '#engine/outgoing/deliver.ts'
import { startPolling } from '#engine/polling/polling.ts'
import { startReconciler } from '#engine/reconciling/reconcile.ts'
import { openRunner } from '#engine/runner/runner.ts'
import { type Enqueue, sweepSlots } from '#engine/scheduling/jobs.ts'
import { createScheduler } from '#engine/scheduling/schedule-new.ts'
import { placeWaiting } from '#engine/scheduling/stranded-targets.ts'
import { startSettling } from '#engine/settling/settle-loop.ts'
import { sweepSteps } from '#engine/sweeping/sweep-steps.ts'
import { allowRemote } from '#manage/applications/allow-remote.ts'
import { createTree } from '#model/inventory/tree.ts'
import { startHeartbeat } from '#model/workers/heartbeat.ts'
import { readLiveWorkers } from '#model/workers/live-workers.ts'
import type { Metrics } from '#ops/metrics/metrics.ts'
import { defaultRetention } from '#ops/retention/policy.ts'
import { pruneOldData } from '#ops/retention/prune.ts'
import type { AddressGuard } from '#platform/addresses/guard.ts'
import type { Config } from '#platform/config.ts'
import type { SecretBox } from '#platform/crypto/secret-box.ts'
import type { ConnectionSettings, Database } from '#platform/database/connect.ts'
import type { Listener } from '#platform/database/listen.ts'
import { reserveConnection } from '#platform/database/reserve-connection.ts'
import type { JobHandlers } from '#platform/queue/handler.ts'
import { type JobName, TARGETS_JOB } from '#platform/queue/jobs.ts'
import type { Queue } from '#platform/queue/open-queue.ts'
import { answerProbe } from '#platform/queue/probe.ts'
import { within } from '#platform/queue/repeat.ts'
import { startWorker, type Worker } from '#platform/queue/worker.ts'
import { VERSION } from '#platform/version.ts'

/** Grace period for deliveries in flight when the process stops; after that they are handed back. */
const MAX_DELIVERY_GRACE_MS = 8_000

/** How often it looks for freezes that are over: held runs start within seconds. */
const RELEASE_EVERY_MS = 1_000

export type WorkDeps = {
  config: Config
  db: Database
  settings: ConnectionSettings
  box: SecretBox
  listener: Listener
  queue: Queue
  enqueue: Enqueue
  connect: Connect
  guard: AddressGuard
  http: HttpClient
  baseUrl: () => string
  log: FastifyBaseLogger
  /** A process that the schema has outgrown takes no jobs and attempts no deliveries. */
  mayWork: () => boolean
  onError: (part: string) => (error: Error) => void
  metrics: Pick<Metrics['work'], 'onMoves' | 'onAttempt' | 'onPause' | 'onCheck'>
}

export type Work = Awaited<ReturnType<typeof startWork>>

export async function startWork(deps: WorkDeps) {
  const { config, db, box, listener, enqueue, log, mayWork, onError } = deps
  await using resources = new AsyncDisposableStack()
  // With the embedded database there is one worker, and its host name may change with every start.
  const workerName = config.databaseUrl === undefined ? undefined : config.workerName
  const handlers = await createHandlers(deps, workerName)
  const heartbeats = await reserveConnection(deps.settings, { onIdleError: onError('workers') })
  resources.defer(() => heartbeats.close())

  let worker: Worker | undefined
  let isDrained = false
  let hurry: AbortSignal | undefined
  let graceMs = config.stopGraceMs
  const pauseOrResume = () => {
    for (const job of Object.keys(handlers) as JobName[]) {
      worker?.drain(job, !mayWork() || (job === TARGETS_JOB && isDrained))
    }
  }
  /** Without another worker, what is handed over would end with its lease. */
  const handOverToOthers = async () => {
    const isAnyReady = (await readLiveWorkers(db)).some((one) => !one.draining)
    if (isAnyReady) worker?.handOver(TARGETS_JOB)
  }
  const place = () => placeWaiting(db, enqueue.targets, onError('scheduling'), deps.metrics.onMoves)

  const heartbeat = await startHeartbeat(heartbeats.db, {
    name: workerName ?? null,
    version: VERSION,
    capacity: config.targetsPerWorker,
    runningTargets: () => worker?.running(TARGETS_JOB) ?? 0,
    isAlone: workerName === undefined,
    listener,
    onOnline: place,
    onDraining(draining) {
      isDrained = draining
      pauseOrResume()
      if (!draining) void place()
      else void handOverToOthers().catch(onError('workers'))
    },
    onError: onError('workers'),
  })
  resources.defer(() => heartbeat.stop())
  // In parallel: one after the other would exceed the limit.
  const stops: (() => Promise<void>)[] = []
  resources.defer(async () => void (await Promise.all(stops.map((stop) => stop()))))

  const running = await startWorker({
    queue: deps.queue,
    heartbeats: heartbeats.db,
    listener,
    handlers,
    consumers: {
      [TARGETS_JOB]: {
        concurrency: config.targetsPerWorker,
        group: workerName,
        onRunning: heartbeat.touch,
      },
    },
    log,
    timings: {
      pollMs: config.pollMs,
      heartbeatMs: (config.heartbeatSeconds * 1_000) / 4,
      // Together with the grace period of up to ten seconds, this stays below the 15-second limit for a stop.
      abortGraceMs: 2_000,
      lastWritesMs: 1_000,
    },
  })
  worker = running
  pauseOrResume()
  stops.push(async () => {
    void heartbeat.leave()
    await running.stop({ graceMs, hurry })
  })

  const deliveryWorker = await startDeliveryWorker({
    db,
    box,
    tokenTargets: config.tokenTargets,
    listener,
    http: deps.http,
    tree: createTree(db),
    baseUrl: deps.baseUrl,
    log,
    pollMs: config.deliveryPollMs,
    isPaused: () => !mayWork(),
    onAttempt: deps.metrics.onAttempt,
    onPause: deps.metrics.onPause,
  })
  stops.push(() => deliveryWorker.stop({ graceMs: Math.min(config.stopGraceMs, MAX_DELIVERY_GRACE_MS) }))

  const reconciler = startReconciler({
    db,
    box,
    tokenTargets: config.tokenTargets,
    http: deps.http,
    pollMs: config.deliveryPollMs,
    isPaused: () => !mayWork(),
    onCheck: deps.metrics.onCheck,
    onError: onError('reconciling'),
  })
  stops.push(() => reconciler.stop())

  const repositories = createRepositories({
    folder: join(config.home, 'repositories', 'mirrors'),
    allowRemote: (remote, applicationId) => allowRemote(db, deps.guard, remote, applicationId),
  })
  const readTips: ReadTips = (applicationId, request) =>
    repositories.readTips(applicationId, { ...request, http: deps.http })
  const connecting = startConnecting({
    db,
    box,
    http: deps.http,
    readTips,
    missedAfterMs: config.missedAfterSeconds * 1_000,
    onMoves: deps.metrics.onMoves,
    baseUrl: deps.baseUrl,
    pollMs: config.deliveryPollMs,
    isPaused: () => !mayWork(),
    onState: (change) => log.info(change, 'connection changed'),
    onError: onError('connecting'),
  })
  stops.push(() => connecting.stop())

  const polling = startPolling({
    db,
    box,
    readTips,
    everyMs: config.deliveryPollMs,
    isPaused: () => !mayWork(),
    onMoves: deps.metrics.onMoves,
    onError: onError('polling'),
  })
  stops.push(() => polling.stop())

  const settling = startSettling({
    db,
    box,
    connect: deps.connect,
    workerName,
    pollMs: config.pollMs,
    everySeconds: config.settleSeconds,
    isPaused: () => !mayWork(),
    onError: onError('settling'),
  })
  stops.push(() => settling.stop())

  const releasing = startReleasing({
    db,
    enqueueTargets: enqueue.targets,
    onMoves: deps.metrics.onMoves,
    everyMs: Math.min(config.pollMs, RELEASE_EVERY_MS),
    isPaused: () => !mayWork(),
    onError: onError('gates'),
  })
  stops.push(() => releasing.stop())

  const approving = await startApproving({
    db,
    listener,
    box,
    repositories: createRepositories({
      folder: join(config.home, 'repositories', 'mirrors'),
      allowRemote: (remote, applicationId) => allowRemote(db, deps.guard, remote, applicationId),
      maxBytes: config.maxSource,
    }),
    enqueueTargets: enqueue.targets,
    onMoves: deps.metrics.onMoves,
    everyMs: Math.min(config.pollMs, RELEASE_EVERY_MS),
    isPaused: () => !mayWork(),
    onError: onError('gates'),
  })
  stops.push(() => approving.stop())

  const checking = startChecking({
    ...commitDepsOf(deps),
    repositories: createRepositories({
      folder: join(config.home, 'repositories', 'mirrors'),
      allowRemote: (remote, applicationId) => allowRemote(db, deps.guard, remote, applicationId),
      maxBytes: config.maxSource,
    }),
    enqueueTargets: enqueue.targets,
    onMoves: deps.metrics.onMoves,
    everyMs: Math.min(config.pollMs, RELEASE_EVERY_MS),
    isPaused: () => !mayWork(),
    onError: onError('checks'),
  })
  stops.push(() => checking.stop())

  const started = resources.move()
  return {
    /** For when the answer of `mayWork` has changed. */
    pauseOrResume,
    /** Takes no new targets, and gives running steps the time that GANTRY_DRAIN_SECONDS grants, or until `signal`. */
    async drain(signal?: AbortSignal): Promise<void> {
      await heartbeat.leave()
      running.drain(TARGETS_JOB, true)
      running.handOver(TARGETS_JOB)
      const isIdle = await within(config.drainSeconds * 1_000, running.idle(TARGETS_JOB), signal)
      // What has had its time gets no more.
      if (!isIdle) graceMs = 0
    },
    async stop(signal?: AbortSignal): Promise<void> {
      hurry = signal
      await started.disposeAsync()
    },
  }
}

/** What asking for the checks of a commit takes. */
function commitDepsOf({ db, box, http, baseUrl, config }: WorkDeps) {
  return { db, box, http, baseUrl, minMs: config.checksSeconds * 1_000 }
}

/** One for every job: a missing one does not compile. */
async function createHandlers(
  deps: WorkDeps,
  workerName: string | undefined,
): Promise<Required<JobHandlers>> {
  const { config, db, enqueue, log, onError } = deps
  const { onMoves } = deps.metrics
  const runner = await openRunner({
    db,
    box: deps.box,
    listener: deps.listener,
    home: config.home,
    maxSourceBytes: config.maxSource,
    reattachSeconds: config.reattachSeconds,
    connect: deps.connect,
    guard: deps.guard,
    http: deps.http,
    recheck: (targetId, signal) => recheck(commitDepsOf(deps), targetId, signal),
    enqueueTargets: enqueue.targets,
    workerName,
    log,
    onMoves,
    onError: onError('runner'),
  })
  const schedule = createScheduler(db, enqueue.targets, onMoves)
  return {
    'actions.run': ({ action_ids }) => schedule(action_ids),
    [TARGETS_JOB]: ({ target_id }, context) => runner.run(target_id, context),
    'scheduling.sweep': () => sweepSlots(db, enqueue.targets, onError('scheduling'), onMoves),
    'approvals.recount': () => recountApprovals(db),
    'steps.sweep': (_, { signal }) => sweepSteps({ db, box: deps.box, connect: deps.connect }, signal),
    'queue.probe': answerProbe,
    'accounts.prune-tokens': async () => {
      await pruneTokens(db)
      await pruneAttempts(db)
      await pruneAuthorizations(db)
      await pruneDeviceCodes(db)
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
}
