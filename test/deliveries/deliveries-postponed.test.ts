import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import { replayDelivery } from '#engine/delivery-commands/redeliver.ts'
import type { NextStep } from '#engine/outgoing/attempt-delivery.ts'
import { type ClaimedDelivery, claimDeliveries } from '#engine/outgoing/claim-deliveries.ts'
import { recordUnsent } from '#engine/outgoing/record-attempt.ts'
import { storeAttempts } from '#engine/outgoing/store.ts'
import { createMask } from '#platform/masking/mask.ts'
import { COMPLETED, IN_PROGRESS, openDeliveries } from '#test/support/deliveries.ts'
import { createTestTree } from '#test/support/world.ts'

/** No worker runs here: the tests play the role of the processes that deliver. */
const world = await openDeliveries({ after }, { delivers: false })
const { db, move, passTime, startAction } = world
const RETRY = { kind: 'retry', afterMs: 60_000 } as const

async function openHook() {
  const tree = await createTestTree(db)
  const hook = await world.makeHook(
    {
      target_url: 'http://127.0.0.1:9/',
      settings: { request_body: {} },
      trigger_when: { events: ['action.created', 'action.status_changed'] },
    },
    tree,
  )
  const claim = () => claimDeliveries(db, new Map([[hook.id, 9]]))
  /** Whether each pending delivery is due. */
  const due = async () => {
    const { rows } = await sql<{ is_due: boolean }>`
      select due_at <= now() as is_due from deliveries where hook_id = ${hook.id} and state = 'pending'
      order by event_id`.execute(db)
    return rows.map((row) => row.is_due)
  }
  return { tree, hook, claim, due }
}

async function finish(delivery: ClaimedDelivery, next: NextStep): Promise<void> {
  const record = recordUnsent({ url: '', method: 'POST' }, 'refused', 'It was refused.', createMask([]))
  const attempted = { kind: 'unsent' as const, delivery, next, record }
  const [recorded] = await storeAttempts(db, [attempted], (work) => work())
  assert.equal(recorded!.next, next)
}
const statuses = (claimed: ClaimedDelivery[]) => claimed.map(({ event }) => event.status)

suite('a delivery behind one that is retried', () => {
  test('is due with it, stored before or after the attempt, and sent right after it', async () => {
    const { tree, hook, claim, due } = await openHook()
    const [before, later] = [await startAction(tree), await startAction(tree)]
    const [first, second] = await claim()
    await move(before, IN_PROGRESS)
    await finish(first!, RETRY)
    await finish(second!, RETRY)
    await move(later, IN_PROGRESS)
    assert.deepEqual(await due(), [false, false, false, false])
    await passTime(hook.id, 59)
    assert.deepEqual(await due(), [false, false, false, false])
    await passTime(hook.id, 1.5)
    assert.deepEqual(await due(), [true, true, true, true])
    const retried = await claim()
    assert.deepEqual(statuses(retried), ['queued', 'queued'])
    for (const delivery of retried) await finish(delivery, { kind: 'delivered' })
    assert.deepEqual(statuses(await claim()), ['in-progress', 'in-progress'])
  })

  test('is postponed again by each retry, and sent when that fails permanently', async () => {
    const { tree, hook, claim, due } = await openHook()
    await move(await startAction(tree), IN_PROGRESS)
    await finish((await claim())[0]!, RETRY)
    await passTime(hook.id, 61)
    await finish((await claim())[0]!, RETRY)
    assert.deepEqual(await due(), [false, false])
    await passTime(hook.id, 61)
    await finish((await claim())[0]!, { kind: 'failed', reason: 'It was refused.' })
    assert.deepEqual(statuses(await claim()), ['in-progress'])
  })

  test('is sent immediately if it is final, and supersedes those that were postponed', async () => {
    const { tree, hook, claim, due } = await openHook()
    const action = await startAction(tree)
    await move(action, IN_PROGRESS)
    const [first] = await claim()
    await move(action, COMPLETED)
    await finish(first!, RETRY)
    assert.deepEqual(await due(), [false, false, true])
    assert.deepEqual(statuses(await claim()), ['completed'])
    assert.deepEqual(
      (await world.deliveries(hook.id)).map(({ state }) => state),
      ['superseded', 'superseded', 'pending'],
    )
  })

  test('no longer waits once that one is replayed by a user', async () => {
    const { tree, hook, claim, due } = await openHook()
    await move(await startAction(tree), IN_PROGRESS)
    await finish((await claim())[0]!, RETRY)
    const [record] = await world.requests(hook.id)
    assert.equal((await replayDelivery(db, record!.id, tree.owner.id)).kind, 'replayed')
    assert.deepEqual(await due(), [true, true])
    assert.deepEqual(statuses(await claim()), ['queued', 'in-progress'])
  })

  test('does not delay a final one, although a replay of the first could not wake it up', async () => {
    const { tree, hook, claim, due } = await openHook()
    const action = await startAction(tree)
    await move(action, IN_PROGRESS)
    await finish((await claim())[0]!, RETRY)
    await move(action, COMPLETED)
    const [record] = await world.requests(hook.id)
    await db.transaction().execute(async (other) => {
      await sql`select from deliveries where hook_id = ${hook.id} and attempts = 0 for update`.execute(other)
      assert.equal((await replayDelivery(db, record!.id, tree.owner.id)).kind, 'replayed')
    })
    assert.deepEqual(await due(), [true, false, true])
    assert.deepEqual(new Set(statuses(await claim())), new Set(['queued', 'completed']))
    assert.equal((await world.deliveries(hook.id))[1]!.state, 'superseded')
  })

  test('is left alone while another process works on it', async () => {
    const { tree, hook, claim, due } = await openHook()
    await move(await startAction(tree), IN_PROGRESS)
    const [first] = await claim()
    await db.transaction().execute(async (other) => {
      await sql`select from deliveries where hook_id = ${hook.id} and attempts = 0 for update`.execute(other)
      await finish(first!, RETRY)
    })
    assert.deepEqual(await due(), [false, true])
    assert.deepEqual(await claim(), [], 'order is kept anyway')
  })
})
