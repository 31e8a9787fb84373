// Hidden captured values and tokens stay hidden: whatever the receiver answers, and however the hook is changed.
import assert from 'node:assert/strict'
import { Writable } from 'node:stream'
import { after, suite, test } from 'node:test'
import { pino } from 'pino'
import { MASK } from '#platform/masking/masked.ts'
import { IN_PROGRESS, openDeliveries, openReceiver } from '#test/support/deliveries.ts'
import { openStatusTree, SHA } from '#test/support/reconciling.ts'
import { createTestTree } from '#test/support/world.ts'

let logged = ''
const write = (chunk: Buffer, _: string, done: () => void) => {
  logged += chunk
  done()
}
const log = pino({ level: 'trace' }, new Writable({ write }))
const world = await openDeliveries({ after }, { log })
const { db, makeHook, move, request, startAction } = world

const EVENTS = { trigger_when: { events: ['action.created', 'action.status_changed'] } }
const ID = { name: 'id', path: 'id' }
const KEY = { name: 'key', path: 'key', hidden: true }
const ANSWER = '{"id": "m1", "key": "k3y-of-the-message"}'
const capturing = (capture: object[], name = 'id') => ({
  settings: { capture, request_body: { value: `{{ captured.${name} }}` } },
})

/** A hook that has captured both values about an action. */
async function open(t: Parameters<typeof openReceiver>[0], settings = capturing([ID, KEY])) {
  const tree = await createTestTree(db)
  const receiver = await openReceiver(t)
  receiver.answer(200, {}, ANSWER)
  const hook = await makeHook({ target_url: receiver.url, ...settings, ...EVENTS }, tree)
  const action = await startAction(tree)
  await world.recorded(hook.id, 1)
  await world.untilIdle(hook.id)
  const change = async (input: object) => {
    const { status, text } = await world.change(hook.id, input, tree.owner.token)
    assert.equal(status, 200, text)
  }
  const post = (path: string, body: object) =>
    request('POST', `/hooks/outgoing/${hook.id}/${path}`, { token: tree.owner.token, body })
  const shown = async () =>
    (await request('GET', `/actions/${action}/notifications`, { token: tree.owner.token })).body[0].captured
  return { receiver, tree, hook, action, change, post, shown }
}

suite('a hidden value', () => {
  test('is masked from the moment at which the hook hides it', async (t) => {
    const { change, shown } = await open(t, capturing([ID, { ...KEY, hidden: false }]))
    assert.deepEqual(await shown(), { id: 'm1', key: 'k3y-of-the-message' })
    await change(capturing([ID, KEY]))
    assert.deepEqual(await shown(), { id: 'm1', key: MASK })
  })

  test('does not become readable when the hook captures it no more', async (t) => {
    const { receiver, hook, action, change, shown } = await open(t)
    await change(capturing([ID]))
    receiver.answer(200, {}, '{"id": "m2"}')
    await move(action, IN_PROGRESS)
    await world.recorded(hook.id, 2)
    await world.untilIdle(hook.id)
    assert.deepEqual(await shown(), { id: 'm2' })
    const row = await db
      .selectFrom('captured_values')
      .select(['values', 'hidden'])
      .where('hook_id', '=', hook.id)
      .executeTakeFirst()
    assert.deepEqual(row, { values: { id: 'm2' }, hidden: null })
  })

  test('is not known to a hook that does not hide it', async (t) => {
    const { receiver, action, change, post } = await open(t)
    const plain = capturing([ID, { ...KEY, hidden: false }], 'key')
    assert.equal((await post('preview', plain)).body.body, '{"value":""}')
    await change(plain)
    await move(action, IN_PROGRESS)
    const [, second] = await receiver.until(2)
    assert.equal(second!.json.value, '')
  })

  test('is masked in the record of a test', async (t) => {
    const header = { name: 'other', header: 'X-Key', hidden: true }
    const { receiver, post } = await open(t, capturing([ID, KEY, header]))
    receiver.answer(200, { 'x-key': 'k3y-in-a-header' }, '{"key": "k3y-of-the-test"}')
    const { status, text } = await post('test', {})
    assert.equal(status, 200, text)
    assert.doesNotMatch(text, /k3y-/)
  })

  test('is masked in records also when it cannot be used', async (t) => {
    const { receiver, tree, hook } = await open(t)
    const answers = [
      `{"key": "k3y-${'long'.repeat(2_000)}"}`,
      '{"key": ["k3y-in-a-list", {"more": "k3y-deeper"}]}',
      `{"key": "k3y-of-many-bytes", "more": "${'x'.repeat(300_000)}"}`,
    ]
    for (const [index, answer] of answers.entries()) {
      receiver.answer(200, {}, answer)
      await startAction(tree)
      await world.recorded(hook.id, index + 2)
      await world.untilIdle(hook.id)
    }
    receiver.answer(400, {}, '{"key": "k3y-of-an-error"}')
    await startAction(tree)
    const records = await world.recorded(hook.id, 5)
    for (const { response_body } of records) assert.ok(!String(response_body).includes('k3y-'))
    assert.match(String(records.at(-1)!.response_body), /\*{8}/)
  })
})

test('a token that a service repeats in its message is in no record and no log', async (t) => {
  const receiver = await openReceiver(t)
  const tree = await openStatusTree(world, 'gitea', receiver.url, 'gitea-token-12345')
  receiver.behave((_, response, { headers }) =>
    response.writeHead(403).end(JSON.stringify({ message: `no: ${headers.authorization}` })),
  )
  const hook = await makeHook({ settings: { preset: { kind: 'gitea_status' } } }, tree)
  await startAction(tree, { commit: SHA })
  const [record] = await world.recorded(hook.id, 1)
  await world.untilIdle(hook.id)
  assert.match(record!.error!, /Gitea does not allow the token .*: no: token \*{8}\.$/)
  assert.match(logged, /Gitea does not allow the token/)
  assert.doesNotMatch(logged + JSON.stringify(record), /gitea-token-12345/)
})
