import type { Sender } from '#adapters/http-client/sender.ts'
import { createActionFinder } from '#model/actions/find-action.ts'
import { shareWholeLoads } from '#model/actions/whole-actions.ts'
import { DELIVERIES_CHANNEL } from '#model/events/fan-out.ts'
import type { Tree } from '#model/inventory/tree.ts'
import type { SecretBox } from '#platform/crypto/secret-box.ts'
import type { Database } from '#platform/database/connect.ts'
import type { Listener } from '#platform/database/listen.ts'
import { createMask } from '#platform/masking/mask.ts'
import type { Log } from '#platform/queue/core.ts'
import { createOutage } from '#platform/queue/outage.ts'
import { repeat, within } from '#platform/queue/repeat.ts'
import { createSignal } from '#platform/queue/signal.ts'
import { type EndedAttempt, handBack } from './attempt.ts'
import { type ClaimedDelivery, claimDeliveries, findHooksWithWork } from './claim-deliveries.ts'
import { createConcurrencyLimiter } from './concurrency-limiter.ts'
import { createOutgoingHooks, type FoundHook, type OutgoingHook } from './outgoing-hooks.ts'
import { recordRefusal } from './record-attempt.ts'
import { nextAttempt } from './retry-schedule.ts'
import { storeAttempts } from './store-attempts.ts'
import { storeHealth } from './store-health.ts'
import { judgeTokens, type TokenVerdict } from './token-rule.ts'
import { type TryDeps, tryDelivery } from './try-delivery.ts'

export type Delivering = {
  /** Claims nothing more, lets requests end for `graceMs`, hands back the rest. Never throws. */
  stop(options: { graceMs: number }): Promise<void>
}

/** What the deliveries of one claim share. */
type Prepared = { hooks: ReadonlyMap<string, FoundHook>; tokens: ReadonlyMap<string, TokenVerdict> }

/** Requests that are under way, or whose end is not stored yet. */
const MOST_UNSETTLED = 1_024
/** How long a stopping process tries to write its last attempts down. After that others send them once more. */
const LAST_WRITES_MS = 2_000

/**
 * Sends what is due, for as long as the process runs. Any number of processes may do so side by side: a claim
 * is a lease on rows, and only the newest attempt of a delivery decides what becomes of it.
 */
export async function startDelivering(options: {
  db: Database
  box: SecretBox
  listener: Listener
  sender: Sender
  tree: Tree
  baseUrl: () => string
  log: Log
  /** How often it looks for what is due without having been told: retries, and the deliveries of dead processes. */
  pollMs: number
  /** A delivery failed because its attempt could not be stored. */
  onUnrecorded: () => void
}): Promise<Delivering> {
  const { db, log, sender } = options
  const findHooks = createOutgoingHooks(db, options.box)
  const deps: TryDeps = {
    db,
    tree: options.tree,
    baseUrl: options.baseUrl,
    findAction: createActionFinder(db),
    loadWhole: shareWholeLoads(db),
    sender,
    now: () => new Date(),
    random: Math.random,
    uptimeMs: () => performance.now(),
  }
  const outage = createOutage(log)
  const pace = createConcurrencyLimiter()
  const stopping = new AbortController()
  const cutShort = new AbortController()
  const giveUp = new AbortController()
  /** Hooks that may have something to send. */
  const wanted = new Set<string>()
  const work = createSignal()
  const ends = createSignal()
  const ended: EndedAttempt[] = []
  const underWay = new Set<Promise<void>>()
  let unsettled = 0

  function want(hookIds: Iterable<string>): void {
    for (const id of hookIds) wanted.add(id)
    work.notify()
  }

  async function look(): Promise<void> {
    want(await outage.persist('look for deliveries', () => findHooksWithWork(db), stopping.signal))
  }

  async function claimUntilStopping(): Promise<void> {
    while (!stopping.signal.aborted) {
      const room = roomByHook()
      if (room.size === 0) {
        await work.wait()
        continue
      }
      // Whoever is told of while the claim runs is wanted again.
      for (const id of room.keys()) wanted.delete(id)
      const claimed = await outage.persist(
        'claim deliveries',
        () => claimDeliveries(db, room),
        stopping.signal,
      )
      const counts = Map.groupBy(claimed, (one) => one.hookId)
      for (const [id, places] of room) if ((counts.get(id)?.length ?? 0) >= places) wanted.add(id)
      unsettled += claimed.length
      for (const one of claimed) pace.begin(one.hookId)
      void tryAll(claimed)
    }
  }

  function roomByHook(): Map<string, number> {
    const room = new Map<string, number>()
    let left = MOST_UNSETTLED - unsettled
    for (const id of wanted) {
      const places = pace.room(id, left)
      if (places === 0) continue
      room.set(id, places)
      left -= places
    }
    return room
  }

  /** Deliveries of one claim share the reading of their hooks and of what their editors may do. */
  async function tryAll(claimed: ClaimedDelivery[]): Promise<void> {
    if (claimed.length === 0) return
    const prepared = outage.persist(
      'read hooks',
      async () => {
        const hooks = await findHooks(
          claimed.map((one) => one.hookId),
          claimed[0]!.treeVersion,
        )
        const used = claimed.flatMap((one) => usable(hooks.get(one.hookId)))
        return { hooks, tokens: await judgeTokens(db, used) }
      },
      cutShort.signal,
    )
    for (const delivery of claimed) {
      const attempt = tryOne(delivery, prepared).then((ended) => {
        underWay.delete(attempt)
        finish(ended)
      })
      underWay.add(attempt)
    }
  }

  async function tryOne(delivery: ClaimedDelivery, prepared: Promise<Prepared>): Promise<EndedAttempt> {
    try {
      const { hooks, tokens } = await prepared
      const hook = hooks.get(delivery.hookId)
      // Removed since it was claimed: the next look notes what it missed.
      if (!hook || cutShort.signal.aborted) return handBack(delivery)
      if (hook instanceof Error) throw hook
      return await tryDelivery(deps, hook, delivery, tokens.get(hook.id)!, cutShort.signal)
    } catch (error) {
      return afterOurFault(delivery, error)
    }
  }

  function afterOurFault(delivery: ClaimedDelivery, error: unknown): EndedAttempt {
    if (cutShort.signal.aborted) return handBack(delivery)
    log.error({ err: error, hook_id: delivery.hookId, delivery_id: delivery.id }, 'a delivery met a fault')
    const why = 'Something went wrong here; the log tells more.'
    const next = nextAttempt({ kind: 'unreachable' }, delivery.attempt, deps.random())
    return {
      delivery,
      next,
      record: recordRefusal({ url: '', method: '' }, 'unrenderable', why, createMask([])),
    }
  }

  function finish(attempt: EndedAttempt): void {
    const { delivery, record } = attempt
    if (wentWell(attempt)) pace.end(delivery.hookId, true, record?.durationMs ?? null)
    ended.push(attempt)
    ends.notify()
    work.notify()
  }

  async function storeUntilDone(): Promise<void> {
    while (!giveUp.signal.aborted) {
      await ends.wait()
      // Those that end in the same turn come along.
      await new Promise(setImmediate)
      const batch = ended.splice(0)
      if (batch.length === 0) continue
      const stored = await storeAttempts(db, batch, (work) =>
        outage.persist('store attempts', work, giveUp.signal),
      )
      unsettled -= batch.length
      for (const one of stored) {
        logAttempt(log, one)
        if (one.next.kind === 'unrecorded') options.onUnrecorded()
      }
      await storeHealth(db, log, stored, (work) => outage.persist('store health', work, giveUp.signal))
      // A failure keeps its place until it is known: the one that follows might be one too many.
      for (const one of batch) if (!wentWell(one)) pace.end(one.delivery.hookId, false, null)
      // What waited behind these may go now.
      want(batch.map((one) => one.delivery.hookId))
    }
  }

  // First the subscription, then the first look: nothing comes unnoticed between the two.
  await options.listener.subscribe(DELIVERIES_CHANNEL, {
    onNotify: (hookId) => want([hookId]),
    onReconnect: () => void look().catch(() => {}),
  })
  const untilAborted = (signal: AbortSignal) => (error: unknown) => {
    if (!signal.aborted) throw error
  }
  const claiming = claimUntilStopping().catch(untilAborted(stopping.signal))
  const storing = storeUntilDone().catch(untilAborted(giveUp.signal))
  const looking = look()
    .then(() => repeat(options.pollMs, stopping.signal, look))
    .catch(untilAborted(stopping.signal))

  return {
    async stop({ graceMs }) {
      stopping.abort()
      work.notify()
      await Promise.all([claiming, looking])
      if (!(await within(graceMs, Promise.all(underWay)))) cutShort.abort()
      await Promise.all(underWay)
      const deadline = performance.now() + LAST_WRITES_MS
      while (unsettled > 0 && performance.now() < deadline) {
        ends.notify()
        await new Promise((resolve) => setTimeout(resolve, 10))
      }
      giveUp.abort()
      ends.notify()
      await within(LAST_WRITES_MS, storing)
    },
  }
}

function usable(hook: FoundHook | undefined): OutgoingHook[] {
  return hook === undefined || hook instanceof Error ? [] : [hook]
}

function wentWell({ next }: EndedAttempt): boolean {
  return next.kind === 'delivered' || next.kind === 'ignored'
}

function logAttempt(log: Log, { delivery, next, record }: EndedAttempt): void {
  const fields = {
    hook_id: delivery.hookId,
    action_id: delivery.action.id,
    delivery_id: delivery.id,
    attempt: delivery.attempt,
    status: delivery.event.status,
    outcome: record?.outcome ?? next.kind,
    answer: record?.status ?? null,
    duration_ms: record?.durationMs ?? null,
    next_attempt_in_ms: next.kind === 'retry' ? Math.round(next.afterMs) : null,
    ...(record?.error && { error: record.error }),
  }
  if (next.kind === 'give-up' || next.kind === 'unrecorded')
    log.warn({ ...fields, why: next.why }, 'delivery attempt')
  else if (next.kind === 'delivered') log.debug(fields, 'delivery attempt')
  else log.info(fields, 'delivery attempt')
}
