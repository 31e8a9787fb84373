// Hooks that capture values of answers, create something once per action and update it afterward.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { MASK } from '#platform/masking/masked.ts'
import {
  type Behavior,
  COMPLETED,
  IN_PROGRESS,
  openDeliveries,
  openReceiver,
} from '#test/support/deliveries.ts'
import { untilTrue } from '#test/support/until.ts'
import { createTestTree } from '#test/support/world.ts'

const world = await openDeliveries({ after })
const { db, makeHook, move, request, startAction } = world

const EVENTS = { events: ['action.created', 'action.status_changed'] }
const STATUS = { status: '{{ action.status }}', key: '{{ request.idempotency_key }}' }

const rulesOf = (...more: object[]) => [{ name: 'id', path: 'message.id' }, ...more]
const twoRequests = (url: string) => ({
  create: { target_url: `${url}/messages`, request_body: STATUS },
  update: { method: 'PATCH', target_url: `${url}/messages/{{ captured.id }}`, request_body: STATUS },
})

/** A chat: creates messages, updates them, and forgets those that are deleted. */
async function openChat(t: Parameters<typeof openReceiver>[0], settings: object = {}) {
  const receiver = await openReceiver(t)
  const messages = new Map<string, string>()
  const chat: Behavior = (_, response, { method, path, json }) => {
    const id = method === 'POST' ? `m/${messages.size + 1}` : decodeURIComponent(path.split('/').at(-1)!)
    if (method !== 'POST' && !messages.has(id)) return void response.writeHead(410).end('{}')
    messages.set(id, json.status)
    response.end(JSON.stringify({ message: { id, token: 'hidden-token-of-the-message' } }))
  }
  receiver.behave(chat)
  const tree = await createTestTree(db)
  const input = { settings: { capture: rulesOf(), requests: twoRequests(receiver.url), ...settings } }
  const hook = await makeHook({ ...input, trigger_when: EVENTS }, tree)
  const lines = () => receiver.arrivals.map(({ method, path, json }) => `${method} ${path} ${json?.status}`)
  return { receiver, chat, tree, hook, messages, lines }
}

const captured = (hookId: string) =>
  db.selectFrom('captured_values').selectAll().where('hook_id', '=', hookId).execute()
const replay = (tree: { owner: { token: string } }, id: string) =>
  request('POST', `/hook-requests/${id}/replay`, { token: tree.owner.token })

suite('a hook with two requests', () => {
  test('creates one message per action and updates it', async (t) => {
    const { receiver, tree, hook, lines, messages } = await openChat(t)
    const action = await startAction(tree)
    await move(action, IN_PROGRESS, COMPLETED)
    await receiver.until(3)
    await world.untilIdle(hook.id)
    assert.deepEqual(lines(), [
      'POST /messages queued',
      'PATCH /messages/m%2F1 in-progress',
      'PATCH /messages/m%2F1 completed',
    ])
    await startAction(tree)
    await receiver.until(4)
    assert.equal(lines().at(-1), 'POST /messages queued')
    assert.equal(messages.size, 2)
    const { body } = await request('GET', `/hooks/outgoing/${hook.id}`, { token: tree.owner.token })
    assert.equal(body.target_url, `${receiver.url}/messages`)
    assert.deepEqual(body.settings.requests.create.request_headers, [])
  })

  test('shows which request it would send, and stores nothing of a test', async (t) => {
    const { receiver, tree, hook, lines } = await openChat(t)
    const token = tree.owner.token
    const test = await request('POST', `/hooks/outgoing/${hook.id}/test`, { token, body: {} })
    assert.equal(test.status, 200, test.text)
    assert.deepEqual(lines(), ['POST /messages completed'])
    assert.deepEqual(await captured(hook.id), [])
    await startAction(tree)
    await receiver.until(2)
    await world.untilIdle(hook.id)
    const [first, second] = receiver.arrivals
    assert.notEqual(first!.json.key, second!.json.key, 'a receiver must not take the test for the message')
    const { body } = await request('POST', `/hooks/outgoing/${hook.id}/preview`, { token, body: {} })
    assert.deepEqual([body.request, body.method], ['update', 'PATCH'])
    assert.equal(body.url, `${receiver.url}/messages/m%2F2`)
  })

  test('counts an answer without the value as delivered, says so, and creates again', async (t) => {
    const { receiver, chat, tree, hook, lines } = await openChat(t)
    const answers = ['<html>{{ action.id }}</html>', 'x'.repeat(2_000_000), '{"message":{"id":["m"]}}', '']
    receiver.behave((_, response) => response.end(answers[receiver.arrivals.length - 1]))
    for (const _ of answers) await startAction(tree)
    const records = await world.recorded(hook.id, 4)
    assert.deepEqual(
      records.map(({ outcome }) => outcome),
      Array(4).fill('delivered'),
    )
    assert.deepEqual(records.map((record) => record.capture_error).toSorted(), [
      'id: expected a string, a number or a boolean, found an array of 1.',
      'id: the response is empty.',
      'id: the response is longer than 256 KiB.',
      'id: the response is not JSON.',
    ])
    const [record] = records
    const shown = await request('GET', `/hook-requests/${record!.id}`, { token: tree.owner.token })
    assert.equal(shown.body.capture_error, record!.capture_error)
    receiver.behave(chat)
    await move(record!.action_id!, IN_PROGRESS)
    await receiver.until(6)
    const requests = ['POST /messages in-progress', 'PATCH /messages/m%2F1 in-progress']
    assert.deepEqual(lines().slice(4), requests, 'the receiver may have returned the first message')
  })

  test('creates what was deleted once more, in the same delivery, and not a second time', async (t) => {
    const { receiver, tree, hook, lines, messages } = await openChat(t)
    const action = await startAction(tree)
    await receiver.until(1)
    messages.delete('m/1')
    messages.set('m/0', 'of another run')
    await move(action, IN_PROGRESS)
    await receiver.until(3)
    assert.deepEqual(lines().slice(1), ['PATCH /messages/m%2F1 in-progress', 'POST /messages in-progress'])
    const [create, , recreate] = receiver.arrivals
    assert.notEqual(create!.json.key, recreate!.json.key)
    await world.untilIdle(hook.id)
    messages.clear()
    await move(action, COMPLETED)
    await receiver.until(4)
    const deliveries = await world.untilIdle(hook.id)
    assert.deepEqual(
      deliveries.map(({ state }) => state),
      ['delivered', 'delivered', 'failed'],
    )
    assert.equal(lines().at(-1), 'PATCH /messages/m%2F2 completed')
    assert.equal((await world.health(hook.id))?.gone_answers ?? 0, 0, 'the receiver itself is not gone')
  })

  test('creates with the final event, and updates, when the one that created is superseded', async (t) => {
    const { receiver, chat, tree, hook, lines, messages } = await openChat(t)
    // The message is created, the answer is lost; the same key returns the message as it is.
    receiver.behave((request, _, { json }) => {
      messages.set('m/1', json.status)
      request.socket.destroy()
    })
    const action = await startAction(tree)
    await world.recorded(hook.id, 1)
    receiver.behave((request, response, arrival) => {
      if (arrival.method === 'POST') response.end('{"message":{"id":"m/1"}}')
      else chat(request, response, arrival)
    })
    await move(action, IN_PROGRESS, COMPLETED)
    await receiver.until(3)
    const deliveries = await world.untilIdle(hook.id)
    assert.deepEqual(
      deliveries.map(({ state }) => state),
      ['superseded', 'superseded', 'delivered'],
    )
    assert.deepEqual(lines(), [
      'POST /messages queued',
      'POST /messages completed',
      'PATCH /messages/m%2F1 completed',
    ])
    assert.deepEqual([...messages], [['m/1', 'completed']])
    const [one, other] = receiver.arrivals
    assert.equal(one!.json.key, other!.json.key, 'the receiver can tell that they are the same message')
  })

  test('updates right after it has created if its settings say so', async (t) => {
    const receiver = await openChat(t, {})
    const requests = { ...twoRequests(receiver.receiver.url), update_after_create: true }
    const settings = { capture: rulesOf(), requests }
    assert.equal((await world.change(receiver.hook.id, { settings }, receiver.tree.owner.token)).status, 200)
    await startAction(receiver.tree)
    await receiver.receiver.until(2)
    const [delivery] = await world.untilIdle(receiver.hook.id)
    assert.equal(delivery!.state, 'delivered')
    assert.deepEqual(receiver.lines(), ['POST /messages queued', 'PATCH /messages/m%2F1 queued'])
  })

  test('creates at another receiver after a change of the URL, with nothing of the first', async (t) => {
    const { receiver, tree, hook } = await openChat(t)
    const action = await startAction(tree)
    await receiver.until(1)
    await world.untilIdle(hook.id)
    const other = await openReceiver(t)
    const settings = { capture: rulesOf(), requests: twoRequests(other.url) }
    assert.equal((await world.change(hook.id, { settings }, tree.owner.token)).status, 200)
    await move(action, IN_PROGRESS)
    const [arrival] = await other.until(1)
    assert.equal(`${arrival!.method} ${arrival!.path}`, 'POST /messages')
  })
})

suite('what is captured', () => {
  test('is sealed and masked everywhere if it is hidden', async (t) => {
    const token = { name: 'token', path: 'message.token', hidden: true }
    const receiver = await openChat(t)
    const requests = twoRequests(receiver.receiver.url)
    const update = {
      ...requests.update,
      request_headers: [{ name: 'X-Token', value: '{{ captured.token }}' }],
    }
    const settings = { capture: rulesOf(token), requests: { ...requests, update } }
    const { hook, tree } = receiver
    assert.equal((await world.change(hook.id, { settings }, tree.owner.token)).status, 200)
    const action = await startAction(tree)
    await move(action, IN_PROGRESS)
    await receiver.receiver.until(2)
    await world.untilIdle(hook.id)
    assert.equal(receiver.receiver.arrivals[1]!.headers['x-token'], 'hidden-token-of-the-message')
    const [row] = await captured(hook.id)
    assert.deepEqual(row!.values, { id: 'm/1' })
    assert.ok(row!.hidden)
    for (const record of await world.requests(hook.id)) {
      const { request_headers, response_body } = record
      assert.doesNotMatch(`${JSON.stringify(request_headers)}${response_body}`, /hidden-token/)
    }
    const preview = await request('POST', `/hooks/outgoing/${hook.id}/preview`, {
      token: tree.owner.token,
      body: {},
    })
    assert.equal(preview.body.headers['X-Token'], MASK)
  })

  test('may have the name of an inherited property', async (t) => {
    const { receiver, tree, hook, lines } = await openChat(t)
    const { create, update } = twoRequests(receiver.url)
    const target_url = `${receiver.url}/messages/{{ captured.__proto__ }}`
    const capture = [{ name: '__proto__', path: 'message.id' }]
    const settings = { capture, requests: { create, update: { ...update, target_url } } }
    assert.equal((await world.change(hook.id, { settings }, tree.owner.token)).status, 200)
    await move(await startAction(tree), IN_PROGRESS)
    await receiver.until(2)
    assert.deepEqual(lines(), ['POST /messages queued', 'PATCH /messages/m%2F1 in-progress'])
  })

  test('is used by later requests of a hook with one request, and is no template', async (t) => {
    const receiver = await openReceiver(t)
    receiver.answer(200, { 'x-thread': 't {{ action.id }}' })
    const tree = await createTestTree(db)
    const settings = {
      capture: [{ name: 'thread', header: 'X-Thread' }],
      request_body: { thread: '{{ captured.thread }}' },
    }
    const hook = await makeHook({ target_url: receiver.url, settings, trigger_when: EVENTS }, tree)
    const action = await startAction(tree)
    await receiver.until(1)
    await world.untilIdle(hook.id)
    await move(action, IN_PROGRESS)
    await receiver.until(2)
    assert.deepEqual(
      receiver.arrivals.map(({ json }) => json.thread),
      ['', 't {{ action.id }}'],
    )
  })
})

suite('replays of a hook that captures', () => {
  test('wait for what is in flight, and go out in the order of their events', async (t) => {
    const { receiver, chat, tree, hook, lines } = await openChat(t)
    const action = await startAction(tree)
    await receiver.until(1)
    await world.untilIdle(hook.id)
    const [first] = await world.requests(hook.id)
    let release = () => {}
    receiver.behave((incoming, response, arrival) => {
      if (receiver.arrivals.length > 2) return chat(incoming, response, arrival)
      release = () => chat(incoming, response, arrival)
    })
    await move(action, IN_PROGRESS)
    await receiver.until(2)
    const answer = await replay(tree, first!.id)
    assert.equal(answer.status, 202, answer.text)
    // The moment at which it is due has passed, and another one is still in flight.
    await world.passTime(hook.id, 3)
    await new Promise((resolve) => setTimeout(resolve, 200))
    assert.equal(receiver.arrivals.length, 2)
    release()
    await receiver.until(3)
    const deliveries = await world.untilIdle(hook.id)
    assert.deepEqual(
      deliveries.map(({ state }) => state),
      ['delivered', 'delivered'],
    )
    assert.deepEqual(lines().slice(1), ['PATCH /messages/m%2F1 in-progress', 'PATCH /messages/m%2F1 queued'])
  })

  test('of a time range update in order', async (t) => {
    const { receiver, tree, hook, lines } = await openChat(t)
    const action = await startAction(tree)
    await move(action, IN_PROGRESS, COMPLETED)
    await receiver.until(3)
    await world.untilIdle(hook.id)
    const body = { from: '2026-01-01T00:00:00.000Z', only_failed: false }
    const token = tree.owner.token
    const sent = await request('POST', `/hooks/outgoing/${hook.id}/redeliver`, { token, body })
    assert.equal(sent.body.deliveries, 3, sent.text)
    await untilTrue(async () => {
      await world.passTime(hook.id, 6)
      return receiver.arrivals.length === 6
    })
    await world.untilIdle(hook.id)
    assert.deepEqual(
      lines().slice(3),
      ['queued', 'in-progress', 'completed'].map((status) => `PATCH /messages/m%2F1 ${status}`),
    )
  })
})
