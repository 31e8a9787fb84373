// The outgoing room: notifies receivers of what happens to runs. Events create deliveries (model/events/fan-out.ts); here
// each one is claimed (claim-deliveries), rendered and sent (attempt-delivery), recorded (record-attempt, store-attempts),
// and delivered, retried or failed (retry-schedule). This file is the loop that connects these steps.
import { LRUCache } from 'lru-cache'
import type { HttpClient } from '#adapters/http-client/client.ts'
import { createActionReader } from '#model/actions/read-action.ts'
import { DELIVERIES_CHANNEL } from '#model/events/fan-out.ts'
import type { Tree } from '#model/inventory/tree.ts'
import type { SecretBox } from '#platform/crypto/secret-box.ts'
import type { Database } from '#platform/database/connect.ts'
import type { Listener } from '#platform/database/listen.ts'
import { createOutageRetrier } from '#platform/database/outages.ts'
import type { TokenTargets } from '#platform/database/tables.ts'
import { createMask } from '#platform/masking/mask.ts'
import { maskError } from '#platform/masking/mask-error.ts'
import type { Log } from '#platform/queue/core.ts'
import { repeat, within } from '#platform/queue/repeat.ts'
import { createSignal } from '#platform/queue/signal.ts'
import { type AttemptDeps, attemptDelivery, type FinishedAttempt, handBack } from './attempt-delivery.ts'
import { createBudgetLimiter } from './budget-limiter.ts'
import { shareCapacity } from './capacity.ts'
import { loadCapturedOf, maskWith } from './captured-values.ts'
import { NOTHING_CAPTURED } from './choose-request.ts'
import { type ClaimedDelivery, claimDeliveries, findHooksWithWork } from './claim-deliveries.ts'
import { createConcurrencyLimiter } from './concurrency-limiter.ts'
import { authorizeTokens, createOutgoingHooks, type OutgoingHook } from './outgoing-hooks.ts'
import {
  type Budget,
  budgetKey,
  PAUSES_CHANNEL,
  type StoredPause,
  storePauses,
  storeRecoveries,
} from './rate-budgets.ts'
import { recordUnsent } from './record-attempt.ts'
import { nextAttempt } from './retry-schedule.ts'
import { storeAttempts } from './store-attempts.ts'
import { storeHealth } from './store-health.ts'
import { budgetOfHook } from './within-budget.ts'

export type DeliveryWorker = {
  /** Claims nothing more, lets requests finish for `graceMs`, hands back the rest. Never throws. */
  stop(options: { graceMs: number }): Promise<void>
}

/** Requests that are in flight, or whose result is not stored yet. */
const MAX_UNSTORED = 1_024
/** How long a stopping process tries to store its last attempts. After that, other processes send them again. */
const LAST_WRITES_MS = 2_000

/**
 * Sends due deliveries for as long as the process runs. Any number of processes may do so side by side: a claim is a
 * lease on rows, and only the newest attempt of a delivery decides what happens to it.
 */
export async function startDeliveryWorker(options: {
  db: Database
  box: SecretBox
  /** Where the installation allows tokens to go. */
  tokenTargets: TokenTargets
  listener: Listener
  sender: HttpClient
  tree: Tree
  baseUrl: () => string
  log: Log
  /** How often it looks for due deliveries without a notification: retries, and those of dead processes. */
  pollMs: number
  /** While it is paused, it takes no deliveries. */
  isPaused?: () => boolean
  /** An attempt was stored, or its delivery failed because it could not be. */
  onAttempt?: (attempt: FinishedAttempt) => void
  /** A service allows no more requests for now, and every process knows it. */
  onPause?: (pause: StoredPause) => void
}): Promise<DeliveryWorker> {
  const { db, log, sender, tree, baseUrl } = options
  const findHooks = createOutgoingHooks(db, options.box)
  const budgets = createBudgetLimiter(() => performance.now())
  const deps: AttemptDeps = {
    db,
    tree,
    baseUrl,
    readAction: createActionReader({ db, baseUrl: options.baseUrl }),
    sender,
    box: options.box,
    now: () => new Date(),
    random: Math.random,
    uptimeMs: () => performance.now(),
    budgets,
  }
  const persist = createOutageRetrier(log, { firstDelayMs: 200 })
  const limiter = createConcurrencyLimiter()
  const stopping = new AbortController()
  const abortRequests = new AbortController()
  const abandonWrites = new AbortController()
  /** Hooks that may have due deliveries. */
  const hooksToClaim = new Set<string>()
  const mayClaim = createSignal()
  const mayStore = createSignal()
  const finished: FinishedAttempt[] = []
  const inFlight = new Set<Promise<void>>()
  /** The rate budgets of hooks that send a token, once they are loaded. */
  const budgetsOfHooks = new LRUCache<string, Budget>({ max: 10_000 })
  /** What counts as in flight for a rate budget. */
  const budgeted = new Map<ClaimedDelivery, Budget>()
  const recovered: Budget[] = []
  let unstored = 0

  /** Waits out an outage. Any other error is logged, and the worker continues with `otherwise`. */
  async function resilient<Result>(
    doing: string,
    work: () => Promise<Result>,
    otherwise: Result,
    { signal } = stopping,
  ): Promise<Result> {
    try {
      return await persist(doing, work, signal)
    } catch (error) {
      if (signal.aborted) throw error
      log.error({ err: error, doing }, 'delivery worker error')
      return otherwise
    }
  }

  function addHooks(hookIds: Iterable<string>): void {
    for (const id of hookIds) hooksToClaim.add(id)
    mayClaim.notify()
  }

  const poll = async () => {
    const found = await resilient('find due deliveries', () => findHooksWithWork(db), [])
    for (const { id, budget } of found) if (budget) budgetsOfHooks.set(id, budget)
    addHooks(found.map(({ id }) => id))
  }

  async function claimUntilStopped(): Promise<void> {
    while (!stopping.signal.aborted) {
      const { slots: capacity, budgetSlots } = capacityByHook()
      if (capacity.size === 0) {
        await mayClaim.wait()
        continue
      }
      // A hook that is notified during the claim is added again.
      for (const id of capacity.keys()) hooksToClaim.delete(id)
      const claimed = await resilient(
        'claim deliveries',
        () => claimDeliveries(db, capacity, budgetSlots),
        [] as ClaimedDelivery[],
      )
      const counts = Map.groupBy(claimed, (delivery) => delivery.hookId)
      const claimedOf = (id: string) => counts.get(id)?.length ?? 0
      for (const [id, slots] of capacity) if (claimedOf(id) >= slots) hooksToClaim.add(id)
      for (const id of sharersOfSpent(budgetSlots, claimedOf)) hooksToClaim.add(id)
      unstored += claimed.length
      for (const delivery of claimed) {
        limiter.start(delivery.hookId)
        const budget = budgetsOfHooks.get(delivery.hookId)
        if (budget) startWithin(budget, delivery)
      }
      if (claimed.length > 0) attemptAll(claimed)
    }
  }

  function capacityByHook() {
    const free = options.isPaused?.() ? 0 : MAX_UNSTORED - unstored
    const budgetOf = (hookId: string) => budgetsOfHooks.get(hookId)
    return shareCapacity(hooksToClaim, free, { limiter, budgets, budgetOf })
  }

  /** Hooks of budgets whose slots were all claimed: what is left of their own deliveries is not known. */
  function sharersOfSpent(
    slots: ReadonlyMap<string, number>,
    claimedOf: (hookId: string) => number,
  ): string[] {
    const sharers = Map.groupBy(slots.keys(), (id) => budgetKey(budgetsOfHooks.get(id)!))
    return [...sharers.values()].flatMap((ids) => {
      const claimed = ids.reduce((sum, id) => sum + claimedOf(id), 0)
      return ids.length > 1 && claimed >= slots.get(ids[0]!)! ? ids : []
    })
  }

  function startWithin(budget: Budget, delivery: ClaimedDelivery): void {
    budgets.start(budget)
    budgeted.set(delivery, budget)
  }

  /** The deliveries of one claim share the loading of their hooks and of their editors' permissions. */
  async function prepare(claimed: readonly ClaimedDelivery[]) {
    const ids = claimed.map((delivery) => delivery.hookId)
    const hooks = await findHooks(ids, claimed[0]!.treeVersion)
    const usable = [...hooks.values()].filter((hook): hook is OutgoingHook => !(hook instanceof Error))
    for (const hook of usable) {
      const budget = budgetOfHook(hook)
      if (budget) budgetsOfHooks.set(hook.id, budget)
      else budgetsOfHooks.delete(hook.id)
    }
    const [tokens, captured] = await Promise.all([
      authorizeTokens(options, usable),
      loadCapturedOf(db, options.box, claimed, hooks),
    ])
    return { hooks, tokens, captured }
  }

  function attemptAll(claimed: readonly ClaimedDelivery[]): void {
    const prepared = persist('load hooks', () => prepare(claimed), abortRequests.signal)
    for (const delivery of claimed) {
      const attempt = attemptOne(delivery, prepared).then((result) => {
        inFlight.delete(attempt)
        finish(result)
      })
      inFlight.add(attempt)
    }
  }

  async function attemptOne(
    delivery: ClaimedDelivery,
    prepared: ReturnType<typeof prepare>,
  ): Promise<FinishedAttempt> {
    try {
      const { hooks, tokens, captured } = await prepared
      const hook = hooks.get(delivery.hookId)
      // Removed since it was claimed: the next poll marks its deliveries as missed.
      if (!hook || abortRequests.signal.aborted) return handBack(delivery)
      if (hook instanceof Error) throw hook
      const budget = budgetsOfHooks.get(hook.id)
      if (budget && !budgeted.has(delivery)) {
        // Claimed before its budget was known.
        if (budgets.available(budget) === 0)
          return { delivery, next: { kind: 'paused', afterMs: 1 }, record: null }
        startWithin(budget, delivery)
      }
      const known = captured.get(delivery.id) ?? NOTHING_CAPTURED
      const token = tokens.get(hook.id)!
      return await attemptDelivery(deps, hook, delivery, token, abortRequests.signal, known).catch(
        (error) => {
          throw maskError(error, maskWith(hook, known.values).text)
        },
      )
    } catch (error) {
      if (abortRequests.signal.aborted) return handBack(delivery)
      log.error(
        { err: error, hook_id: delivery.hookId, delivery_id: delivery.id },
        'delivery attempt crashed',
      )
      const next = nextAttempt({ kind: 'unreachable' }, delivery.attempt, deps.random())
      const reason = 'Internal error; see the log of the service.'
      const record = recordUnsent({ url: '', method: '' }, 'unrenderable', reason, createMask([]))
      return { delivery, next, record }
    }
  }

  function finish(attempt: FinishedAttempt): void {
    const { delivery, record } = attempt
    finishWithin(attempt)
    if (succeeded(attempt)) limiter.finish(delivery.hookId, true, record?.durationMs ?? null)
    finished.push(attempt)
    mayStore.notify()
    mayClaim.notify()
  }

  function finishWithin({ delivery, next }: FinishedAttempt): void {
    const budget = budgeted.get(delivery)
    if (!budget) return
    budgeted.delete(delivery)
    const isAccepted = next.kind === 'delivered' || next.kind === 'continued'
    budgets.finish(budget, isAccepted)
    if (isAccepted && budgets.recovers(budget, delivery.claimedAt)) recovered.push(budget)
  }

  /** Before the attempts, which other processes may claim again. */
  async function storeLimits(batch: readonly FinishedAttempt[]): Promise<void> {
    const pauses = batch.flatMap(({ pause }) => (pause ? [pause] : []))
    if (pauses.length === 0 && recovered.length === 0) return
    const stored = await resilient(
      'store rate limits',
      async () => {
        await storeRecoveries(db, recovered)
        recovered.length = 0
        return storePauses(db, pauses)
      },
      [] as StoredPause[],
      abandonWrites,
    )
    for (const pause of stored) {
      budgets.stored(pause)
      log.info(
        { credential_id: pause.credentialId, origin: pause.origin, pause_ms: pause.ms },
        'rate limit reached',
      )
      options.onPause?.(pause)
    }
  }

  async function storeUntilDone(): Promise<void> {
    while (!abandonWrites.signal.aborted) {
      await mayStore.wait()
      // Attempts that finish in the same turn share the statement.
      await new Promise(setImmediate)
      const batch = finished.splice(0)
      if (batch.length === 0) continue
      await storeLimits(batch)
      const stored = await storeAttempts(db, batch, (work) =>
        persist('store attempts', work, abandonWrites.signal),
      )
      unstored -= batch.length
      for (const attempt of stored) {
        logAttempt(log, attempt)
        options.onAttempt?.(attempt)
      }
      await storeHealth(db, log, stored, (work) =>
        resilient('store receiver health', work, undefined, abandonWrites),
      )
      // A failed attempt holds its slot until its health is stored: the next one might be one too many.
      for (const attempt of batch)
        if (!succeeded(attempt))
          limiter.finish(attempt.delivery.hookId, attempt.next.kind === 'paused' ? null : false, null)
      // Deliveries that waited for these may be next.
      addHooks(batch.map(({ delivery }) => delivery.hookId))
    }
  }

  // Subscribe before the first poll: nothing is missed between the two.
  await options.listener.subscribe(DELIVERIES_CHANNEL, {
    onNotify: (hookId) => addHooks([hookId]),
    onReconnect: () => void poll().catch(() => {}),
  })
  await options.listener.subscribe(PAUSES_CHANNEL, { onNotify: (pause) => budgets.stored(JSON.parse(pause)) })
  const unlessAborted = (signal: AbortSignal) => (error: unknown) => {
    if (!signal.aborted) throw error
  }
  const claiming = claimUntilStopped().catch(unlessAborted(stopping.signal))
  const storing = storeUntilDone().catch(unlessAborted(abandonWrites.signal))
  const polling = poll()
    .then(() => repeat(options.pollMs, stopping.signal, poll))
    .catch(unlessAborted(stopping.signal))

  return {
    async stop({ graceMs }) {
      stopping.abort()
      mayClaim.notify()
      await Promise.all([claiming, polling])
      if (!(await within(graceMs, Promise.all(inFlight)))) abortRequests.abort()
      await Promise.all(inFlight)
      const deadline = performance.now() + LAST_WRITES_MS
      while (unstored > 0 && performance.now() < deadline) {
        mayStore.notify()
        await new Promise((resolve) => setTimeout(resolve, 10))
      }
      abandonWrites.abort()
      mayStore.notify()
      await within(LAST_WRITES_MS, storing)
    },
  }
}

function succeeded({ next }: FinishedAttempt): boolean {
  return next.kind === 'delivered' || next.kind === 'ignored' || next.kind === 'continued'
}

function logAttempt(log: Log, { delivery, next, record }: FinishedAttempt): void {
  const hasFailed = next.kind === 'failed' || next.kind === 'unrecorded'
  const level = hasFailed ? 'warn' : next.kind === 'delivered' ? 'debug' : 'info'
  const fields = {
    hook_id: delivery.hookId,
    action_id: delivery.action.id,
    delivery_id: delivery.id,
    attempt: delivery.attempt,
    status: delivery.event.status,
    outcome: record?.outcome ?? next.kind,
    answer: record?.status ?? null,
    duration_ms: record?.durationMs ?? null,
    next_attempt_in_ms: next.kind === 'retry' || next.kind === 'paused' ? Math.round(next.afterMs) : null,
    ...(record?.error && { error: record.error }),
    ...(hasFailed && { reason: next.reason }),
  }
  log[level](fields, 'delivery attempt')
}
