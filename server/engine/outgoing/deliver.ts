// The outgoing room: notifies receivers of what happens to runs. Events create deliveries (model/events/fan-out.ts); here each
// goes through three stages, with a type for each: it is claimed (claim.ts, ClaimedDelivery), attempted (attempt.ts,
// AttemptedDelivery) and stored (store.ts, RecordedDelivery). This file connects the stages.
import { setTimeout as delay } from 'node:timers/promises'
import { DELIVERIES_CHANNEL } from '#model/events/fan-out.ts'
import type { Listener } from '#platform/database/listen.ts'
import { createOutageRetrier } from '#platform/database/outages.ts'
import { within } from '#platform/queue/repeat.ts'
import { type AttemptOptions, createAttempts } from './attempt.ts'
import { createBudgetLimiter } from './budget-limiter.ts'
import { createCapacity } from './capacity.ts'
import { type ClaimOptions, createClaims } from './claim.ts'
import { PAUSES_CHANNEL } from './rate-budgets.ts'
import type { StageDeps } from './stage.ts'
import { createStore, type StoreOptions } from './store.ts'

export type DeliveryWorker = Awaited<ReturnType<typeof startDeliveryWorker>>

type DeliveryOptions = Pick<StageDeps, 'db' | 'log'> &
  Omit<ClaimOptions & AttemptOptions & StoreOptions, keyof StageDeps> & {
    listener: Listener
    /** How often it looks for due deliveries without a notification: retries, and those of dead processes. */
    pollMs: number
  }

/** How long a stopping process tries to store its last attempts. After that, other processes send them again. */
const LAST_WRITES_MS = 2_000
const LAST_WRITES_POLL_MS = 10

/**
 * Sends due deliveries for as long as the process runs. Any number of processes may do so side by side: a claim is a
 * lease on rows, and only the newest attempt of a delivery decides what happens to it.
 */
export async function startDeliveryWorker(options: DeliveryOptions) {
  const { log, listener } = options
  const [stopping, requests, writes] = [new AbortController(), new AbortController(), new AbortController()]
  const persist = createOutageRetrier(log, { firstDelayMs: 200 })
  const budgets = createBudgetLimiter(() => performance.now())
  const capacity = createCapacity(budgets)
  const shared = { ...options, persist, budgets, capacity }
  const claims = createClaims({ ...shared, signal: stopping.signal })
  const attempt = createAttempts({ ...shared, signal: requests.signal })
  const store = createStore({ ...shared, signal: writes.signal })
  const inFlight = new Set<Promise<void>>()

  async function claimAndAttempt(): Promise<void> {
    for (const attempting of attempt(await claims.next())) {
      const ending = attempting.then((attempted) => {
        inFlight.delete(ending)
        store.add(attempted)
        claims.wakeUp()
      })
      inFlight.add(ending)
    }
  }

  // Subscribe before the first poll: nothing is missed between the two.
  await listener.subscribe(DELIVERIES_CHANNEL, {
    onNotify: (hookId) => claims.addHooks([hookId]),
    onReconnect: () => void claims.poll().catch(() => {}),
  })
  await listener.subscribe(PAUSES_CHANNEL, { onNotify: (pause) => budgets.stored(JSON.parse(pause)) })
  const claiming = repeatUntil(stopping, claimAndAttempt)
  const storing = repeatUntil(writes, async () => claims.addHooks(await store.next()))
  const polling = repeatUntil(stopping, async () => {
    await claims.poll()
    await delay(options.pollMs, undefined, { signal: stopping.signal })
  })

  return {
    /** Claims nothing more, lets requests finish for `graceMs`, hands back the rest. Never throws. */
    async stop({ graceMs }: { graceMs: number }): Promise<void> {
      stopping.abort()
      claims.wakeUp()
      await Promise.all([claiming, polling])
      if (!(await within(graceMs, Promise.all(inFlight)))) requests.abort()
      await Promise.all(inFlight)
      const deadline = performance.now() + LAST_WRITES_MS
      while (!capacity.isIdle() && performance.now() < deadline) {
        store.wakeUp()
        await delay(LAST_WRITES_POLL_MS)
      }
      writes.abort()
      store.wakeUp()
      await within(LAST_WRITES_MS, storing)
    },
  }
}

/** Errors after the abort are dropped. */
async function repeatUntil({ signal }: AbortController, work: () => Promise<void>): Promise<void> {
  try {
    while (!signal.aborted) await work()
  } catch (error) {
    if (!signal.aborted) throw error
  }
}
