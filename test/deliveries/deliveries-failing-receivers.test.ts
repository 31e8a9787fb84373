import assert from 'node:assert/strict'
import { Writable } from 'node:stream'
import { after, suite, test } from 'node:test'
import { pino } from 'pino'
import { claimDeliveries } from '#engine/outgoing/claim-deliveries.ts'
import { until } from '#platform/queue/test-queue.ts'
import { COMPLETED, DAY, IN_PROGRESS, openDeliveries, openReceiver } from '#test/support/deliveries.ts'
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

async function openSick(t: Parameters<typeof openReceiver>[0], status = 500) {
  const receiver = await openReceiver(t)
  receiver.answer(status)
  const tree = await createTestTree(db)
  const hook = await makeHook({ target_url: receiver.url, settings: { request_body: {} } }, tree)
  return { receiver, tree, hook }
}

/** As many runs begin at once, each of which the hook is to tell. */
async function startMany(tree: TestTree, count: number): Promise<number[]> {
  const actions = await Promise.all(Array.from({ length: count }, () => startAction(tree)))
  await Promise.all(actions.map((action) => move(action, IN_PROGRESS)))
  return actions
}

const states = async (hookId: string) => (await world.deliveries(hookId)).map(({ state }) => state)

/** Only the pause of the receiver; what is to be tried again waits on. */
const endPause = (hookId: string) =>
  db.updateTable('hook_health').set({ open_until: new Date() }).where('hook_id', '=', hookId).execute()

const TOLD_TWICE = { events: ['action.created', 'action.status_changed'] }

const warnings = (hookId: string) =>
  lines.filter(
    ({ hook_id, level, msg }) => hook_id === hookId && level === 40 && msg.startsWith('outgoing hook'),
  )

suite('a receiver that fails five times in a row', () => {
  test('is left alone; after a pause one request tries whether it is well', async (t) => {
    const { receiver, tree, hook } = await openSick(t)
    await startMany(tree, 12)
    await world.ailing(hook.id, 5)
    assert.equal(receiver.arrivals.length, 5)
    const { open_until } = (await world.health(hook.id))!
    const pause = Date.parse(open_until!) - Date.now()
    assert.ok(pause > 0 && pause <= 5_000, `${pause} ms`)

    await world.passTime(hook.id, 5)
    await world.ailing(hook.id, 6)
    assert.equal(receiver.arrivals.length, 6)
  })

  test('gets everything as soon as it is well', async (t) => {
    const { receiver, tree, hook } = await openSick(t)
    await startMany(tree, 12)
    await world.ailing(hook.id, 5)
    receiver.answer(200)
    await world.exhaust(hook.id)
    assert.ok((await world.deliveries(hook.id)).every(({ state }) => state === 'delivered'))
    await until(async () => (await world.health(hook.id)) === undefined)
    assert.equal(receiver.arrivals.length, 5 + 12)
  })

  test('does not keep other hooks from telling theirs', async (t) => {
    const { tree, hook } = await openSick(t)
    const well = await openReceiver(t)
    const neighbour = await makeHook({ target_url: well.url, settings: { request_body: {} } }, tree)
    await startMany(tree, 12)
    await world.ailing(hook.id, 5)
    await well.until(12)
    assert.equal(await world.health(neighbour.id), undefined)
  })

  test('is not kept waiting by deliveries of which nothing is sent', async (t) => {
    const { receiver, tree, hook } = await openSick(t)
    const path = 'action.triggered_from.hook_parsed_variables.tell'
    const conditions = [{ path, accepted_values: [true] }]
    await world.change(
      hook.id,
      { trigger_when: { events: ['action.created'], conditions } },
      tree.owner.token,
    )
    for (let number = 0; number < 5; number += 1) await startAction(tree, { tell: true })
    await world.ailing(hook.id, 5)
    for (let number = 0; number < 3; number += 1) await startAction(tree, { tell: false })
    receiver.answer(200)
    await endPause(hook.id)
    await until(async () => (await states(hook.id)).filter((state) => state === 'ignored').length === 3)
    await startAction(tree, { tell: true })
    await receiver.until(6)
  })

  test('is not probed by a delivery that may not go yet', async (t) => {
    const { receiver, tree, hook } = await openSick(t)
    await world.change(hook.id, { trigger_when: TOLD_TWICE }, tree.owner.token)
    const actions = await Promise.all(Array.from({ length: 5 }, () => startAction(tree)))
    await world.ailing(hook.id, 5)
    // Behind each that has failed there is another now, which is due but has to wait for it.
    for (const action of actions) await move(action, IN_PROGRESS)
    await endPause(hook.id)
    assert.deepEqual(await claimDeliveries(db, new Map([[hook.id, 4]])), [])
    assert.ok(Date.parse((await world.health(hook.id))!.open_until!) <= Date.now())
    receiver.answer(200)
    await startAction(tree)
    await receiver.until(6)
  })
})

test('a receiver that asks for a pause gets it, for all of its deliveries', async (t) => {
  const { receiver, tree, hook } = await openSick(t)
  receiver.answer(429, { 'retry-after': '600' })
  await startMany(tree, 1)
  await world.ailing(hook.id, 1)
  await startMany(tree, 3)
  receiver.answer(200)
  await world.passTime(hook.id, 500)
  const { open_until } = (await world.health(hook.id))!
  const left = Date.parse(open_until!) - Date.now()
  assert.ok(left > 80_000 && left <= 100_000, `${left} ms`)
  assert.equal(receiver.arrivals.length, 1)
  await world.passTime(hook.id, 101)
  await receiver.until(5)
})

test('a hook that is given another address begins anew there', async (t) => {
  const { receiver, tree, hook } = await openSick(t)
  receiver.answer(429, { 'retry-after': '3600' })
  await startMany(tree, 1)
  await world.ailing(hook.id, 1)
  await world.change(hook.id, { name: 'The same address', target_url: receiver.url }, tree.owner.token)
  assert.notEqual((await world.health(hook.id))!.open_until, null)

  const well = await openReceiver(t)
  await world.change(hook.id, { target_url: well.url }, tree.owner.token)
  await startMany(tree, 1)
  await well.until(1)
})

suite('a hook', () => {
  async function read(hookId: string, { owner }: TestTree) {
    return (await world.request('GET', `/hooks/outgoing/${hookId}`, { token: owner.token })).body
  }
  const isOff = async (hookId: string, tree: TestTree) => (await read(hookId, tree)).active === false

  test('of which every delivery failed for five days is switched off, after a warning', async (t) => {
    const { receiver, tree, hook } = await openSick(t, 400)
    await startMany(tree, 9)
    await world.settled(hook.id)
    await until(async () => (await world.health(hook.id))?.failed_deliveries === 9)
    await world.passTime(hook.id, 2.6 * DAY)
    receiver.answer(503)
    await startMany(tree, 1)
    await until(() => warnings(hook.id).length === 1)
    await world.passTime(hook.id, 2.5 * DAY - 60)
    receiver.answer(400)
    assert.equal((await read(hook.id, tree)).active, true)
    await startMany(tree, 1)
    await until(() => isOff(hook.id, tree))
    const { disabled_at, disabled_reason } = await read(hook.id, tree)
    assert.ok(Math.abs(Date.parse(disabled_at) - Date.now()) < 60_000)
    assert.match(disabled_reason, /^Every delivery failed for 5 days \(1[01] deliveries\)\.$/)
    assert.deepEqual(
      warnings(hook.id).map(({ msg }) => msg),
      ['outgoing hook keeps failing', 'outgoing hook disabled'],
    )
  })

  test('that fails for as long with fewer deliveries stays on', async (t) => {
    const { tree, hook } = await openSick(t, 400)
    await startMany(tree, 2)
    await until(async () => (await world.health(hook.id))?.failed_deliveries === 2)
    await world.passTime(hook.id, 30 * DAY)
    await startMany(tree, 1)
    await until(async () => (await world.health(hook.id))?.failed_deliveries === 3)
    assert.equal(await isOff(hook.id, tree), false)
  })

  test('whose receiver is gone is switched off, and tells later what it missed when somebody asks', async (t) => {
    const { receiver, tree, hook } = await openSick(t, 410)
    const { token } = tree.owner
    receiver.answer(503)
    await startMany(tree, 1)
    await world.recorded(hook.id, 1)
    receiver.answer(410)
    const [action] = await startMany(tree, 1)
    await world.recorded(hook.id, 2)
    assert.equal(await isOff(hook.id, tree), false)
    await move(action!, COMPLETED)
    await until(() => isOff(hook.id, tree))
    await until(async () => (await states(hook.id)).join() === 'missed,failed,failed')
    assert.equal((await read(hook.id, tree)).disabled_reason, 'The receiver returned 410 (Gone) twice.')
    assert.equal(receiver.arrivals.length, 3)

    // What happens meanwhile is told to nobody.
    await startMany(tree, 3)
    receiver.answer(200)
    const changed = await world.change(hook.id, { active: true }, token)
    assert.equal(changed.status, 200)
    // With the one that was waiting when the hook was switched off.
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

  test('that is switched off by hand sends nothing of what was waiting', async (t) => {
    const { receiver, tree, hook } = await openSick(t)
    await startMany(tree, 2)
    await world.ailing(hook.id, 2)
    receiver.answer(200)
    await world.change(hook.id, { active: false }, tree.owner.token)
    await until(async () => (await world.deliveries(hook.id)).every(({ state }) => state === 'missed'))
    assert.ok((await world.requests(hook.id)).every((record) => record.next_attempt_at === null))
    const again = await world.change(hook.id, { active: true }, tree.owner.token)
    assert.equal(again.headers['x-missed-deliveries'], '2')
    await startMany(tree, 1)
    await receiver.until(3)
    await world.settled(hook.id)
    assert.equal(receiver.arrivals.length, 3)
  })

  test('that was edited while it was off tells what it missed since it was switched off', async (t) => {
    const { receiver, tree, hook } = await openSick(t)
    receiver.answer(200)
    const change = (wish: object) => world.change(hook.id, wish, tree.owner.token)
    await change({ active: false })
    await startMany(tree, 2)
    assert.equal((await change({ name: 'Renamed' })).status, 200)
    // Off already: this is no new beginning.
    assert.equal((await change({ active: false })).status, 200)
    await startMany(tree, 1)
    assert.equal((await change({ active: true })).headers['x-missed-deliveries'], '3')
    await change({ active: false })
    assert.equal((await change({ active: true })).headers['x-missed-deliveries'], '0')
  })
})
