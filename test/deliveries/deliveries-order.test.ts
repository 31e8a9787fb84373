import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import { attemptDelivery } from '#engine/outgoing/attempt-delivery.ts'
import { createBudgetLimiter } from '#engine/outgoing/budget-limiter.ts'
import { claimDeliveries } from '#engine/outgoing/claim-deliveries.ts'
import { loadOutgoingHooks, type OutgoingHook } from '#engine/outgoing/outgoing-hooks.ts'
import { createActionReader } from '#model/actions/read-action.ts'
import { createTree } from '#model/inventory/tree.ts'
import {
  COMPLETED,
  FAILED,
  IN_PROGRESS,
  openDeliveries,
  openReceiver,
  startTestDelivering,
} from '#test/support/deliveries.ts'
import { untilTrue } from '#test/support/until.ts'
import { createTestTree } from '#test/support/world.ts'

const world = await openDeliveries({ after })
/** Only the workers that a test starts deliver here. */
const quiet = await openDeliveries({ after }, { delivers: false })
const { db, makeHook, move, startAction } = world

const ALL = { events: ['action.created', 'action.status_changed'] }
const NOTIFYING = { settings: { request_body: { action: '{{ action.id }}', status: '{{ action.status }}' } } }

async function openOrdered(t: Parameters<typeof openReceiver>[0], more: object = {}) {
  const receiver = await openReceiver(t)
  const tree = await createTestTree(db)
  const hook = await makeHook({ target_url: receiver.url, ...NOTIFYING, ...more }, tree)
  const received = () => receiver.arrivals.map(({ json }) => `${json.action} ${json.status}`)
  return { receiver, tree, hook, received }
}

const states = async (hookId: string) => (await world.deliveries(hookId)).map(({ state }) => state)

suite('deliveries of one action to one hook', () => {
  test('are sent one after the other, in event order, however slow the receiver is', async (t) => {
    const { receiver, tree, received } = await openOrdered(t, { trigger_when: ALL })
    let atOnce = 0
    let mostAtOnce = 0
    receiver.behave((_, response) => {
      mostAtOnce = Math.max(mostAtOnce, ++atOnce)
      setTimeout(() => {
        atOnce -= 1
        response.end()
      }, 60)
    })
    const action = await startAction(tree)
    await move(action, IN_PROGRESS, COMPLETED)
    await receiver.until(3)
    assert.deepEqual(
      received(),
      ['queued', 'in-progress', 'completed'].map((status) => `${action} ${status}`),
    )
    assert.equal(mostAtOnce, 1)
  })

  test('wait for a failed one; those of other actions and hooks do not', async (t) => {
    const { receiver, tree, hook, received } = await openOrdered(t, { trigger_when: ALL })
    const other = await openReceiver(t)
    const neighbor = await makeHook({ target_url: other.url, ...NOTIFYING, trigger_when: ALL }, tree)
    receiver.answer(500)
    const stuck = await startAction(tree)
    await world.recorded(hook.id, 1)
    receiver.behave((_, response, { json }) => {
      response.writeHead(Number(json.action) === stuck ? 500 : 200).end()
    })
    await move(stuck, IN_PROGRESS)
    const free = await startAction(tree)
    await move(free, IN_PROGRESS)
    await receiver.until(3)
    await other.until(4)
    await world.untilIdle(neighbor.id)
    const ofStuck = received().filter((line) => line.startsWith(`${stuck} `))
    assert.deepEqual(ofStuck, [`${stuck} queued`])
    assert.deepEqual(
      received().filter((line) => line.startsWith(`${free} `)),
      [`${free} queued`, `${free} in-progress`],
    )
    receiver.answer(200)
    await world.exhaust(hook.id)
    assert.deepEqual(received().slice(-2), [`${stuck} queued`, `${stuck} in-progress`])
  })

  test('are superseded by a final one if they are not final and have failed', async (t) => {
    const { receiver, tree, hook, received } = await openOrdered(t, { trigger_when: ALL })
    receiver.answer(503)
    const action = await startAction(tree)
    await world.recorded(hook.id, 1)
    await move(action, IN_PROGRESS)
    receiver.answer(200)
    await move(action, FAILED)
    await receiver.until(2)
    await world.untilIdle(hook.id)
    assert.deepEqual(received(), [`${action} queued`, `${action} failed`])
    assert.deepEqual(await states(hook.id), ['superseded', 'superseded', 'delivered'])
    // Nothing arrives later either.
    await world.exhaust(hook.id)
    assert.equal(receiver.arrivals.length, 2)

    const records = await world.requests(hook.id)
    const [first, ...others] = records
    assert.deepEqual([first!.outcome, first!.next_attempt_at], ['refused', null])
    const superseded = others.filter(({ outcome }) => outcome === 'superseded')
    assert.deepEqual(
      superseded.map(({ attempt, retry_of, action_id }) => ({ attempt, retry_of, action_id })),
      [
        { attempt: 1, retry_of: first!.id, action_id: action },
        { attempt: 0, retry_of: null, action_id: action },
      ],
    )
  })

  test('never deliver an older status after the final one, even if the final one fails first', async (t) => {
    const { receiver, tree, hook, received } = await openOrdered(t)
    receiver.answer(500)
    const action = await startAction(tree)
    await move(action, IN_PROGRESS)
    await world.recorded(hook.id, 1)
    await move(action, COMPLETED)
    await receiver.until(2)
    await world.untilFailing(hook.id, 2)
    receiver.answer(200)
    await world.exhaust(hook.id)
    assert.deepEqual(received(), [`${action} in-progress`, `${action} completed`, `${action} completed`])
  })

  test('are all sent when none has failed, even while a final one is pending', async (t) => {
    const { receiver, tree, hook, received } = await openOrdered(t)
    const { promise: mayEnd, resolve: letEnd } = Promise.withResolvers<void>()
    receiver.behave((_, response) => void mayEnd.then(() => response.end()))
    const action = await startAction(tree)
    await move(action, IN_PROGRESS)
    await receiver.until(1)
    await move(action, COMPLETED)
    letEnd()
    await receiver.until(2)
    await world.untilIdle(hook.id)
    assert.deepEqual(received(), [`${action} in-progress`, `${action} completed`])
    assert.deepEqual(await states(hook.id), ['delivered', 'delivered'])
  })
})

test('a hook gets each event once', async (t) => {
  const { tree, hook } = await openOrdered(t, {
    trigger_when: { events: ['action.started', 'action.status_changed'] },
  })
  await move(await startAction(tree), IN_PROGRESS)
  const [delivery] = await world.untilIdle(hook.id)
  const { hook_id, event_id, action_id, is_final } = delivery!
  await assert.rejects(
    db.insertInto('deliveries').values({ hook_id, event_id, action_id, is_final }).execute(),
    /duplicate key value violates unique constraint/,
  )
  assert.equal((await world.deliveries(hook.id)).length, 1)
})

test('a slow receiver does not delay others', async (t) => {
  const slow = await openReceiver(t)
  slow.behave(() => {})
  const { receiver, tree } = await openOrdered(t)
  await makeHook({ target_url: slow.url, ...NOTIFYING }, tree)
  const actions = await Promise.all(Array.from({ length: 8 }, () => startAction(tree)))
  for (const action of actions) await move(action, IN_PROGRESS)
  await receiver.until(8)
  assert.ok(slow.arrivals.length <= 4, `${slow.arrivals.length} requests to one that does not answer`)
})

test('hooks whose requests hang do not delay another hook at the same origin', async (t) => {
  const { receiver, tree, hook } = await openOrdered(t)
  const waiting: (() => void)[] = []
  receiver.behave((_, response, { path }) => {
    if (path === '/hangs') waiting.push(() => response.end())
    else response.end()
  })
  const target_url = `${receiver.url}/hangs`
  const hanging = Array.from({ length: 20 }, () => makeHook({ target_url, ...NOTIFYING }, tree))
  await Promise.all(hanging)
  const actions = await Promise.all(Array.from({ length: 4 }, () => startAction(tree)))
  for (const action of actions) await move(action, IN_PROGRESS)
  await untilTrue(() => waiting.length >= 60)
  const more = await Promise.all(Array.from({ length: 4 }, () => startAction(tree)))
  for (const action of more) await move(action, IN_PROGRESS)
  await untilTrue(async () => (await states(hook.id)).filter((state) => state === 'delivered').length === 8)
  receiver.answer(200)
  for (const end of waiting) end()
})

const startWorker = (t: Parameters<typeof openReceiver>[0]) =>
  startTestDelivering(t, quiet.api, { guard: quiet.guard })

async function openHanging(t: Parameters<typeof openReceiver>[0]) {
  const receiver = await openReceiver(t)
  const tree = await createTestTree(quiet.db)
  const hook = await quiet.makeHook({ target_url: receiver.url }, tree)
  const waiting: (() => void)[] = []
  receiver.behave((_, response) => void waiting.push(() => response.end()))
  await quiet.move(await quiet.startAction(tree), IN_PROGRESS)
  return { receiver, hook, waiting }
}

const only = async (hookId: string) => (await quiet.deliveries(hookId))[0]!
const expireLeases = (hookId: string) =>
  sql`update deliveries set leased_until = now() - interval '1 second' where hook_id = ${hookId}`.execute(
    quiet.db,
  )

suite('a worker', () => {
  test('hands back what it has started when it stops, and another one sends it', async (t) => {
    const { receiver, hook } = await openHanging(t)
    const first = await startWorker(t)
    await receiver.until(1)
    await first.stop({ graceMs: 0 })
    const { state, attempts, leased_until } = await only(hook.id)
    assert.deepEqual({ state, attempts, leased_until }, { state: 'pending', attempts: 0, leased_until: null })
    assert.equal((await quiet.requests(hook.id)).length, 0)

    receiver.answer(200)
    await startWorker(t)
    const [one, other] = await receiver.until(2)
    assert.equal(one!.headers['webhook-id'], other!.headers['webhook-id'])
    await quiet.untilIdle(hook.id)
    const [record] = await quiet.requests(hook.id)
    assert.deepEqual([record!.outcome, record!.attempt], ['delivered', 1])
  })

  test('waits for responses within its grace period when it stops', async (t) => {
    const { receiver, hook, waiting } = await openHanging(t)
    const worker = await startWorker(t)
    await receiver.until(1)
    const stopped = worker.stop({ graceMs: 20_000 })
    waiting[0]!()
    await stopped
    assert.equal((await only(hook.id)).state, 'delivered')
  })

  test('is replaced when it seems dead, and its later results change nothing', async (t) => {
    const { receiver, hook, waiting } = await openHanging(t)
    await startWorker(t)
    await receiver.until(1)
    await expireLeases(hook.id)
    await receiver.until(2)
    assert.equal((await only(hook.id)).attempts, 2)
    // The first attempt, whose lease has expired, succeeds; the second continues.
    waiting[0]!()
    const [late] = await quiet.recorded(hook.id, 1)
    assert.deepEqual([late!.outcome, late!.attempt, late!.next_attempt_at], ['delivered', 1, null])
    const { state, leased_until } = await only(hook.id)
    assert.equal(state, 'pending')
    assert.notEqual(leased_until, null)

    waiting[1]!()
    await untilTrue(async () => (await only(hook.id)).state === 'delivered')
    assert.equal((await quiet.requests(hook.id)).length, 2)
    assert.equal(receiver.arrivals.length, 2)
  })

  test('sends nothing after a delay if its lease could expire before the response', async (t) => {
    const { hook } = await openHanging(t)
    const [delivery] = await claimDeliveries(quiet.db, new Map([[hook.id, 1]]))
    const loaded = (await loadOutgoingHooks(quiet.db, quiet.box, [hook.id])).get(hook.id) as OutgoingHook
    const sent: string[] = []
    const triedAfter = (seconds: number) =>
      attemptDelivery(
        {
          db: quiet.db,
          box: quiet.box,
          tree: createTree(quiet.db),
          baseUrl: () => 'http://gantry.test',
          readAction: createActionReader({ db: quiet.db, baseUrl: () => 'http://gantry.test' }),
          http: {
            async send({ url }) {
              sent.push(url)
              return { kind: 'unreachable', message: 'Nobody is there.', ipAddress: null, durationMs: 1 }
            },
            close: async () => {},
          },
          now: () => new Date(),
          random: () => 0.5,
          uptimeMs: () => performance.now() + seconds * 1_000,
          budgets: createBudgetLimiter(() => performance.now()),
        },
        loaded,
        delivery!,
        { kind: 'allowed', token: null },
        new AbortController().signal,
      )
    assert.equal((await triedAfter(40)).next.kind, 'handed-back')
    assert.deepEqual(sent, [])
    assert.equal((await triedAfter(1)).next.kind, 'retry')
    assert.equal(sent.length, 1)
  })

  test('shares deliveries with other workers: none is sent twice', async (t) => {
    const receiver = await openReceiver(t)
    const tree = await createTestTree(quiet.db)
    const hook = await quiet.makeHook({ target_url: receiver.url, settings: { request_body: {} } }, tree)
    await Promise.all([1, 2].map(() => startWorker(t)))
    const actions = await Promise.all(Array.from({ length: 20 }, () => quiet.startAction(tree)))
    await Promise.all(actions.map((action) => quiet.move(action, IN_PROGRESS)))
    await receiver.until(20)
    await quiet.untilIdle(hook.id)
    assert.equal(new Set(receiver.arrivals.map(({ headers }) => headers['webhook-id'])).size, 20)
    assert.equal(receiver.arrivals.length, 20)
  })
})
