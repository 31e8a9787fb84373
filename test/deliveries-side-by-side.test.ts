import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import { pino } from 'pino'
import type { EndedAttempt } from '#outgoing/attempt.ts'
import { claimDeliveries } from '#outgoing/claim-deliveries.ts'
import { redeliver } from '#outgoing/redeliver.ts'
import { storeHealth } from '#outgoing/store-health.ts'
import { until } from '#queue/test-queue.ts'
import { IN_PROGRESS, openDeliveries } from './deliveries.ts'
import { createTestTree } from './world.ts'

/** Nobody delivers here: the tests take the part of processes that do. */
const world = await openDeliveries({ after }, { delivers: false })
const { db, health, makeHook, move, startAction } = world
const log = pino({ level: 'silent' })
const once = (work: () => Promise<void>) => work()

async function openHook() {
  const tree = await createTestTree(db)
  const hook = await makeHook({ target_url: 'http://127.0.0.1:9/', settings: { request_body: {} } }, tree)
  const start = async () => move(await startAction(tree), IN_PROGRESS)
  return { hook, start }
}

/** An attempt as it comes back from a receiver that is ill. */
async function failedAttempt(): Promise<EndedAttempt> {
  const { hook, start } = await openHook()
  await start()
  const [delivery] = await claimDeliveries(db, new Map([[hook.id, 1]]))
  return {
    delivery: delivery!,
    next: { kind: 'retry', afterMs: 5_000 },
    record: null,
    result: { kind: 'timed-out' },
  }
}

const somebodyWaits = async () => {
  const { rows } = await sql`
    select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`.execute(db)
  return rows.length > 0
}

suite('how a receiver is doing', () => {
  test('is noted although another process has just noted that it is well', async () => {
    const attempt = await failedAttempt()
    const { hookId } = attempt.delivery
    await storeHealth(db, log, [attempt], once)
    let storing: Promise<void> | undefined
    await db.transaction().execute(async (other) => {
      await sql`select from hook_health where hook_id = ${hookId} for update`.execute(other)
      storing = storeHealth(db, log, [attempt], once)
      storing.catch(() => {})
      await until(somebodyWaits)
      await other.deleteFrom('hook_health').where('hook_id', '=', hookId).execute()
    })
    await storing
    assert.equal((await health(hookId))?.failures_in_a_row, 1)
  })

  test('is written for each hook on its own, so that none is counted again because of another', async () => {
    const attempts = [await failedAttempt(), await failedAttempt()]
    let faults = 1
    await storeHealth(db, log, attempts, async (work) => {
      await work()
      // The first was written; whoever writes the second has to do it twice.
      if ((await health(attempts[1]!.delivery.hookId)) && faults > 0) {
        faults -= 1
        await work()
      }
    })
    const counted = await Promise.all(attempts.map(({ delivery }) => health(delivery.hookId)))
    assert.deepEqual(
      counted.map((row) => row?.failures_in_a_row),
      [1, 2],
    )
  })
})

test('sending again waits for nothing that is being tried at this moment', async () => {
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
    await until(async () => outcome !== undefined || (await somebodyWaits()))
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
