import assert from 'node:assert/strict'
import { Writable } from 'node:stream'
import { after, suite, test } from 'node:test'
import { pino } from 'pino'
import { claimDeliveries } from '#engine/outgoing/claim-deliveries.ts'
import { COMPLETED, DAY, IN_PROGRESS, openDeliveries, openReceiver } from '#test/support/deliveries.ts'
import { untilTrue } from '#test/support/until.ts'
import { createTestTree, type TestTree } from '#test/support/world.ts'

type LogLine = { msg: string; hook_id?: string; level: number; reason?: string }

const lines: LogLine[] = []
const log = pino(
  new Writable({
    write(chunk, _, done) {
      lines.push(
        ...String(chunk)
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line)),
      )
      done()
    },
  }),
)
const world = await openDeliveries({ after }, { log })
const { db, makeHook, move, startAction } = world

async function openFailing(t: Parameters<typeof openReceiver>[0], status = 500) {
  const receiver = await openReceiver(t)
  receiver.answer(status)
  const tree = await createTestTree(db)
  const hook = await makeHook({ target_url: receiver.url, settings: { request_body: {} } }, tree)
  return { receiver, tree, hook }
}

/** Starts that many runs; the hook is notified of each. */
async function startMany(tree: TestTree, count: number): Promise<number[]> {
  const actions = await Promise.all(Array.from({ length: count }, () => startAction(tree)))
  await Promise.all(actions.map((action) => move(action, IN_PROGRESS)))
  return actions
}

const states = async (hookId: string) => (await world.deliveries(hookId)).map(({ state }) => state)

/** Ends only the pause of the receiver; retries keep waiting. */
const endPause = (hookId: string) =>
  db.updateTable('hook_health').set({ open_until: new Date() }).where('hook_id', '=', hookId).execute()

const TOLD_TWICE = { events: ['action.created', 'action.status_changed'] }

const warnings = (hookId: string) =>
  lines.filter(
    ({ hook_id, level, msg }) => hook_id === hookId && level === 40 && msg.startsWith('outgoing hook'),
  )

suite('a receiver that fails five times in a row', () => {
  test('is paused; after the pause one request probes it', async (t) => {
    const { receiver, tree, hook } = await openFailing(t)
    await startMany(tree, 12)
    await world.untilFailing(hook.id, 5)
    assert.equal(receiver.arrivals.length, 5)
    const { open_until } = (await world.health(hook.id))!
    const pause = Date.parse(open_until!) - Date.now()
    assert.ok(pause > 0 && pause <= 5_000, `${pause} ms`)

    await world.passTime(hook.id, 5)
    await world.untilFailing(hook.id, 6)
    assert.equal(receiver.arrivals.length, 6)
  })

  test('gets everything as soon as it has recovered', async (t) => {
    const { receiver, tree, hook } = await openFailing(t)
    await startMany(tree, 12)
    await world.untilFailing(hook.id, 5)
    receiver.answer(200)
    await world.exhaust(hook.id)
    assert.ok((await world.deliveries(hook.id)).every(({ state }) => state === 'delivered'))
    await untilTrue(async () => (await world.health(hook.id)) === undefined)
    assert.equal(receiver.arrivals.length, 5 + 12)
  })

  test('does not delay the deliveries of other hooks', async (t) => {
    const { tree, hook } = await openFailing(t)
    const healthy = await openReceiver(t)
    const neighbor = await makeHook({ target_url: healthy.url, settings: { request_body: {} } }, tree)
    await startMany(tree, 12)
    await world.untilFailing(hook.id, 5)
    await healthy.until(12)
    assert.equal(await world.health(neighbor.id), undefined)
  })

  test('is not blocked by deliveries that send nothing', async (t) => {
    const { receiver, tree, hook } = await openFailing(t)
    const path = 'action.triggered_from.hook_parsed_variables.tell'
    const conditions = [{ path, accepted_values: [true] }]
    await world.change(
      hook.id,
      { trigger_when: { events: ['action.created'], conditions } },
      tree.owner.token,
    )
    for (let number = 0; number < 5; number += 1) await startAction(tree, { tell: true })
    await world.untilFailing(hook.id, 5)
    for (let number = 0; number < 3; number += 1) await startAction(tree, { tell: false })
    receiver.answer(200)
    await endPause(hook.id)
    await untilTrue(async () => (await states(hook.id)).filter((state) => state === 'ignored').length === 3)
    await startAction(tree, { tell: true })
    await receiver.until(6)
  })

  test('is not probed by a delivery whose turn has not come', async (t) => {
    const { receiver, tree, hook } = await openFailing(t)
    await world.change(hook.id, { trigger_when: TOLD_TWICE }, tree.owner.token)
    const actions = await Promise.all(Array.from({ length: 5 }, () => startAction(tree)))
    await world.untilFailing(hook.id, 5)
    // Behind each failed delivery there is now another one, which is due but has to wait for it.
    for (const action of actions) await move(action, IN_PROGRESS)
    await endPause(hook.id)
    assert.deepEqual(await claimDeliveries(db, new Map([[hook.id, 4]])), [])
    assert.ok(Date.parse((await world.health(hook.id))!.open_until!) <= Date.now())
    receiver.answer(200)
    await startAction(tree)
    await receiver.until(6)
  })
})

test('a 403 because of a rate limit is retried until it is delivered', async (t) => {
  const limits: [Record<string, string>, string][] = [
    [{ 'retry-after': '1' }, ''],
    [{ 'x-ratelimit-remaining': '0' }, ''],
    [{}, '{"message": "You have exceeded a secondary rate limit."}'],
  ]
  for (const [headers, body] of limits) {
    const { receiver, tree, hook } = await openFailing(t)
    receiver.answer(403, headers, body)
    await startMany(tree, 1)
    await world.untilFailing(hook.id, 1)
    receiver.answer(200)
    await world.passTime(hook.id, 60)
    await receiver.until(2)
    const [delivery] = await world.untilIdle(hook.id)
    assert.deepEqual([delivery!.state, delivery!.attempts], ['delivered', 2])
  }
  const { receiver, tree, hook } = await openFailing(t)
  receiver.answer(403, {}, '{"message": "Resource not accessible by integration"}')
  await startMany(tree, 1)
  await world.recorded(hook.id, 1)
  assert.equal((await world.untilIdle(hook.id))[0]!.state, 'failed')
})

test('Retry-After pauses all deliveries to a receiver', async (t) => {
  for (const status of [429, 403]) await assertPaused(t, status)
})

async function assertPaused(t: Parameters<typeof openFailing>[0], status: number): Promise<void> {
  const { receiver, tree, hook } = await openFailing(t)
  receiver.answer(status, { 'retry-after': '600' })
  await startMany(tree, 1)
  await world.untilFailing(hook.id, 1)
  await startMany(tree, 3)
  receiver.answer(200)
  await world.passTime(hook.id, 500)
  const { open_until } = (await world.health(hook.id))!
  const left = Date.parse(open_until!) - Date.now()
  assert.ok(left > 80_000 && left <= 100_000, `${left} ms`)
  assert.equal(receiver.arrivals.length, 1)
  await world.passTime(hook.id, 101)
  await receiver.until(5)
}

test('a hook with a new URL starts with a clean state', async (t) => {
  const { receiver, tree, hook } = await openFailing(t)
  receiver.answer(429, { 'retry-after': '3600' })
  await startMany(tree, 1)
  await world.untilFailing(hook.id, 1)
  await world.change(hook.id, { name: 'The same address', target_url: receiver.url }, tree.owner.token)
  assert.notEqual((await world.health(hook.id))!.open_until, null)

  const healthy = await openReceiver(t)
  await world.change(hook.id, { target_url: healthy.url }, tree.owner.token)
  await startMany(tree, 1)
  await healthy.until(1)
})

suite('a hook', () => {
  async function read(hookId: string, { owner }: TestTree) {
    return (await world.request('GET', `/hooks/outgoing/${hookId}`, { token: owner.token })).body
  }
  const isOff = async (hookId: string, tree: TestTree) => (await read(hookId, tree)).active === false

  test('is disabled after five days of failed deliveries, with a warning before', async (t) => {
    const { receiver, tree, hook } = await openFailing(t, 400)
    await startMany(tree, 9)
    await world.untilIdle(hook.id)
    await untilTrue(async () => (await world.health(hook.id))?.failed_deliveries === 9)
    await world.passTime(hook.id, 2.6 * DAY)
    receiver.answer(503)
    await startMany(tree, 1)
    await untilTrue(() => warnings(hook.id).length === 1)
    assert.equal((await read(hook.id, tree)).active, true)
    receiver.answer(400)
    await world.passTime(hook.id, 2.5 * DAY - 60)
    await startMany(tree, 1)
    await untilTrue(() => isOff(hook.id, tree))
    const { disabled_at, disabled_reason } = await read(hook.id, tree)
    assert.ok(Math.abs(Date.parse(disabled_at) - Date.now()) < 60_000)
    assert.match(disabled_reason, /^Every delivery failed for 5 days \(1[01] deliveries\)\.$/)
    assert.deepEqual(
      warnings(hook.id).map(({ msg }) => msg),
      ['outgoing hook keeps failing', 'outgoing hook disabled'],
    )
  })

  test('stays active when fewer deliveries failed in that time', async (t) => {
    const { tree, hook } = await openFailing(t, 400)
    await startMany(tree, 2)
    await untilTrue(async () => (await world.health(hook.id))?.failed_deliveries === 2)
    await world.passTime(hook.id, 30 * DAY)
    await startMany(tree, 1)
    await untilTrue(async () => (await world.health(hook.id))?.failed_deliveries === 3)
    assert.equal(await isOff(hook.id, tree), false)
  })

  test('is disabled when its receiver is gone, and can redeliver what it missed', async (t) => {
    const { receiver, tree, hook } = await openFailing(t, 410)
    const { token } = tree.owner
    receiver.answer(503)
    await startMany(tree, 1)
    await world.recorded(hook.id, 1)
    receiver.answer(410)
    const [action] = await startMany(tree, 1)
    await world.recorded(hook.id, 2)
    assert.equal(await isOff(hook.id, tree), false)
    await move(action!, COMPLETED)
    await untilTrue(() => isOff(hook.id, tree))
    await untilTrue(async () => (await states(hook.id)).join() === 'missed,failed,failed')
    assert.equal((await read(hook.id, tree)).disabled_reason, 'The receiver returned 410 (Gone) twice.')
    assert.equal(receiver.arrivals.length, 3)

    // Events in the meantime are not delivered.
    await startMany(tree, 3)
    receiver.answer(200)
    const changed = await world.change(hook.id, { active: true }, token)
    assert.equal(changed.status, 200)
    // Including the one that was pending when the hook was disabled.
    assert.equal(changed.headers['x-missed-deliveries'], '4')
    assert.match(changed.headers.link!, /\/redeliver>; rel="redeliver"$/)
    const { active, disabled_at, disabled_reason } = changed.body
    assert.deepEqual(
      { active, disabled_at, disabled_reason },
      {
        active: true,
        disabled_at: null,
        disabled_reason: null,
      },
    )
    const from = (await world.requests(hook.id))[0]!.created_at
    const asked = await world.request('POST', `/hooks/outgoing/${hook.id}/redeliver`, {
      token,
      body: { from: new Date(Date.parse(from) - DAY * 1_000).toISOString() },
    })
    assert.deepEqual([asked.status, asked.body.deliveries], [202, 6])
    await receiver.until(3 + 6)
    assert.equal(await isOff(hook.id, tree), false)
  })

  test('sends none of its pending deliveries once a user disables it', async (t) => {
    const { receiver, tree, hook } = await openFailing(t)
    await startMany(tree, 2)
    await world.untilFailing(hook.id, 2)
    receiver.answer(200)
    await world.change(hook.id, { active: false }, tree.owner.token)
    await untilTrue(async () => (await world.deliveries(hook.id)).every(({ state }) => state === 'missed'))
    assert.ok((await world.requests(hook.id)).every((record) => record.next_attempt_at === null))
    const again = await world.change(hook.id, { active: true }, tree.owner.token)
    assert.equal(again.headers['x-missed-deliveries'], '2')
    await startMany(tree, 1)
    await receiver.until(3)
    await world.untilIdle(hook.id)
    assert.equal(receiver.arrivals.length, 3)
  })

  test('counts what it missed since it was disabled, even if it was edited in between', async (t) => {
    const { receiver, tree, hook } = await openFailing(t)
    receiver.answer(200)
    const change = (input: object) => world.change(hook.id, input, tree.owner.token)
    await change({ active: false })
    await startMany(tree, 2)
    assert.equal((await change({ name: 'Renamed' })).status, 200)
    // Already disabled: the time does not start again.
    assert.equal((await change({ active: false })).status, 200)
    await startMany(tree, 1)
    assert.equal((await change({ active: true })).headers['x-missed-deliveries'], '3')
    await change({ active: false })
    assert.equal((await change({ active: true })).headers['x-missed-deliveries'], '0')
  })
})
