import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import { pino } from 'pino'
import { redeliver, replayDelivery } from '#engine/delivery-commands/redeliver.ts'
import type { AttemptedDelivery, NextStep } from '#engine/outgoing/attempt-delivery.ts'
import { type ClaimedDelivery, claimDeliveries } from '#engine/outgoing/claim-deliveries.ts'
import { recordUnsent } from '#engine/outgoing/record-attempt.ts'
import { storeAttempts } from '#engine/outgoing/store.ts'
import { storeHealth } from '#engine/outgoing/store-health.ts'
import type { RecordedDelivery } from '#engine/outgoing/store-statement.ts'
import { createMask } from '#platform/masking/mask.ts'
import { COMPLETED, IN_PROGRESS, openDeliveries } from '#test/support/deliveries.ts'
import { untilTrue } from '#test/support/until.ts'
import { createTestTree } from '#test/support/world.ts'

/** No worker runs here: the tests play the role of the processes that deliver. */
const world = await openDeliveries({ after }, { delivers: false })
const { db, health, makeHook, move, startAction } = world
const log = pino({ level: 'silent' })
const once = <Result>(work: () => Promise<Result>) => work()

async function openHook() {
  const tree = await createTestTree(db)
  const hook = await makeHook({ target_url: 'http://127.0.0.1:9/', settings: { request_body: {} } }, tree)
  const start = async () => {
    const action = await startAction(tree)
    await move(action, IN_PROGRESS)
    return action
  }
  return { hook, start, ownerId: tree.owner.id }
}

const attemptOf = (delivery: ClaimedDelivery, next: NextStep) => {
  const record = recordUnsent({ url: '', method: 'POST' }, 'refused', 'It was refused.', createMask([]))
  return { kind: 'unsent' as const, delivery, next, record }
}
const claim = async (hookId: string) => (await claimDeliveries(db, new Map([[hookId, 1]])))[0]!
/** As it is, and not as one that the database rejects. */
async function store(attempted: AttemptedDelivery): Promise<void> {
  const [recorded] = await storeAttempts(db, [attempted], once)
  assert.equal(recorded!.next, attempted.next)
}

/** An attempt that a failing receiver caused. */
async function failedAttempt(): Promise<RecordedDelivery> {
  const { hook, start } = await openHook()
  await start()
  const attempted: AttemptedDelivery = {
    ...attemptOf(await claim(hook.id), { kind: 'retry', afterMs: 5_000 }),
    kind: 'sent',
    health: { kind: 'timed-out' },
    credentialId: null,
    pause: null,
    sentStatus: null,
    captured: null,
  }
  return { attempted, next: attempted.next, record: attempted.record }
}

const somebodyWaits = async () => {
  const { rows } = await sql`
    select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`.execute(db)
  return rows.length > 0
}

suite('the health of a receiver', () => {
  test('is stored even if another process has just deleted it as healthy', async () => {
    const attempt = await failedAttempt()
    const { hookId } = attempt.attempted.delivery
    await storeHealth(db, log, [attempt], once)
    let storing: Promise<void> | undefined
    await db.transaction().execute(async (other) => {
      await sql`select from hook_health where hook_id = ${hookId} for update`.execute(other)
      storing = storeHealth(db, log, [attempt], once)
      storing.catch(() => {})
      await untilTrue(somebodyWaits)
      await other.deleteFrom('hook_health').where('hook_id', '=', hookId).execute()
    })
    await storing
    assert.equal((await health(hookId))?.failures_in_a_row, 1)
  })

  test('is stored per hook, so that a retry for one does not count another again', async () => {
    const attempts = [await failedAttempt(), await failedAttempt()]
    let faults = 1
    await storeHealth(db, log, attempts, async (work) => {
      await work()
      // The first was stored; storing the second is repeated.
      if ((await health(attempts[1]!.attempted.delivery.hookId)) && faults > 0) {
        faults -= 1
        await work()
      }
    })
    const counted = await Promise.all(attempts.map(({ attempted }) => health(attempted.delivery.hookId)))
    assert.deepEqual(
      counted.map((row) => row?.failures_in_a_row),
      [1, 2],
    )
  })
})

test('a final status does not overtake a predecessor that another process is just claiming', async () => {
  const { hook, start } = await openHook()
  const action = await start()
  await store(attemptOf(await claim(hook.id), { kind: 'retry', afterMs: 60_000 }))
  await move(action, COMPLETED)
  await db.transaction().execute(async (other) => {
    // What a claim writes, before it is committed.
    await sql`update deliveries set attempts = attempts + 1, leased_until = now() + interval '45 seconds'
      where hook_id = ${hook.id} and attempts = 1`.execute(other)
    assert.equal(await claim(hook.id), undefined)
  })
  assert.equal(await claim(hook.id), undefined)
  await sql`update deliveries set leased_until = null where hook_id = ${hook.id}`.execute(db)
  assert.equal((await claim(hook.id)).event.status, 'completed')
  assert.deepEqual(
    (await world.deliveries(hook.id)).map(({ state }) => state),
    ['superseded', 'pending'],
  )
})

suite('an attempt whose delivery was claimed by another process', () => {
  /** As if its process had been paused until the lease expired. */
  async function stall(delivery: ClaimedDelivery): Promise<ClaimedDelivery> {
    const lease = new Date(Date.parse(delivery.lease) - 60_000).toISOString()
    await sql`update deliveries set leased_until = ${lease} where hook_id = ${delivery.hookId}`.execute(db)
    return { ...delivery, lease }
  }
  const stateOf = async (hookId: string) => {
    const [only] = await world.deliveries(hookId)
    return [only!.state, only!.attempts, only!.leased_until !== null]
  }

  test('is recorded, and decides nothing', async () => {
    const { hook, start } = await openHook()
    await start()
    const first = await stall(await claim(hook.id))
    const second = await claim(hook.id)
    assert.deepEqual([first.attempt, second.attempt], [1, 2])
    await store(attemptOf(first, { kind: 'delivered' }))
    assert.deepEqual(await stateOf(hook.id), ['pending', 2, true])
    assert.equal((await world.requests(hook.id)).length, 1)
    await store(attemptOf(second, { kind: 'delivered' }))
    assert.deepEqual(await stateOf(hook.id), ['delivered', 2, false])
  })

  test('decides nothing after a replay, which counts attempts from the beginning', async () => {
    const { hook, start, ownerId } = await openHook()
    await start()
    const failed = await claim(hook.id)
    await store(attemptOf(failed, { kind: 'failed', reason: 'It was refused.' }))
    const [record] = await world.requests(hook.id)
    const replay = () => replayDelivery(db, record!.id, ownerId)
    assert.equal((await replay()).kind, 'replayed')
    const stalled = await stall(await claim(hook.id))
    assert.equal((await replay()).kind, 'replayed')
    for (const next of [
      { kind: 'delivered' },
      { kind: 'handed-back' },
      { kind: 'retry', afterMs: 60_000 },
    ] as const)
      await store(attemptOf(stalled, next))
    assert.deepEqual(await stateOf(hook.id), ['pending', 0, false])
    const current = await claim(hook.id)
    assert.deepEqual([stalled.attempt, current.attempt], [1, 1])
    await store(attemptOf(stalled, { kind: 'failed', reason: 'It was refused.' }))
    assert.deepEqual(await stateOf(hook.id), ['pending', 1, true])
    await store(attemptOf(current, { kind: 'delivered' }))
    assert.deepEqual(await stateOf(hook.id), ['delivered', 1, false])
  })

  test('storing an attempt twice, after a lost response of the database, updates the delivery once', async () => {
    const { hook, start } = await openHook()
    await start()
    const attempt = attemptOf(await claim(hook.id), { kind: 'retry', afterMs: 60_000 })
    await store(attempt)
    const [before] = await world.deliveries(hook.id)
    await store(attempt)
    assert.deepEqual(await world.deliveries(hook.id), [before])
    assert.equal((await world.requests(hook.id)).length, 1)
  })
})

test('redelivery does not wait for attempts in progress', async () => {
  const { hook, start } = await openHook()
  await start()
  await start()
  const [arrived, underWay] = await world.deliveries(hook.id)
  const only = (event: number) => sql`hook_id = ${hook.id} and event_id = ${event}`
  await sql`update deliveries set state = 'delivered' where ${only(arrived!.event_id)}`.execute(db)
  await db.transaction().execute(async (other) => {
    await sql`update deliveries set attempts = 1 where ${only(underWay!.event_id)}`.execute(other)
    const span = { from: '2020-01-01T00:00:00Z', to: '2100-01-01T00:00:00Z' }
    const sending = redeliver(db, hook.id, { ...span, onlyFailed: false, dryRun: false })
    let outcome: unknown
    sending.then((done) => {
      outcome = done
    })
    await untilTrue(async () => outcome !== undefined || (await somebodyWaits()))
    assert.deepEqual(outcome, { kind: 'done', deliveries: 1 })
  })
  assert.deepEqual(
    (await world.deliveries(hook.id)).map(({ state, attempts }) => [state, attempts]),
    [
      ['pending', 0],
      ['pending', 1],
    ],
  )
})
