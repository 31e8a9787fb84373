// Deliveries as they are attempted, for forwarding: GET /hooks/outgoing/{hook_id}/stream, over real connections.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { credentialAad } from '#model/inventory/sealed-aad.ts'
import { uuidAt } from '#platform/database/uuid-at.ts'
import { createSignal } from '#platform/queue/signal.ts'
import { COMPLETED, IN_PROGRESS, openDeliveries, openReceiver } from '#test/support/deliveries.ts'
import { openTestApp } from '#test/support/harness.ts'
import { listen, openStream, type TestStream } from '#test/support/streams.ts'
import { createMember, createTestTree, type TestTree } from '#test/support/world.ts'
import { STREAM_SETTINGS } from '#views/streams/settings.ts'
import { streamDeliveries } from '#views/streams/stream-deliveries.ts'

const world = await openDeliveries({ after })
const { api, box, db, makeHook, move, request, startAction } = world
// Another process than the one that manages hooks; no polling and no regular checks.
const LIVE = { pollMs: 600_000, recheckMs: 600_000, batchMs: 0 }
const other = await openTestApp({ after }, { beside: api, live: LIVE })
const host = await listen(other)
const TOKEN = 'token-of-the-credential'

const urlOf = ({ id }: { id: string }) => `${host}/hooks/outgoing/${id}/stream`
async function follow(hook: { id: string }, tree: TestTree, lastEventId?: string): Promise<TestStream> {
  const stream = await openStream(urlOf(hook), tree.owner.token, { lastEventId })
  await stream.until((events) => events.length >= 1)
  assert.deepEqual([stream.status, stream.events[0]!.type], [200, 'ready'])
  return stream
}
const deliveriesIn = ({ events }: TestStream) => events.filter(({ type }) => type === 'delivery')
const untilDelivered = (stream: TestStream, count: number) =>
  stream.until(() => deliveriesIn(stream).length >= count)

test('each delivery arrives as it is attempted, with a signature that a receiver verifies', async (t) => {
  const tree = await createTestTree(db)
  const receiver = await openReceiver(t)
  receiver.answer(500)
  const hook = await makeHook({ target_url: `${receiver.url}/x?run={{ action.id }}` }, tree)
  const stream = await follow(hook, tree)
  const action = await startAction(tree)
  await move(action, IN_PROGRESS)
  await untilDelivered(stream, 1)
  await request('POST', `/hooks/outgoing/${hook.id}/test`, { token: tree.owner.token })
  await untilDelivered(stream, 2)
  const records = await world.requests(hook.id)
  for (const [index, { data }] of deliveriesIn(stream).entries()) {
    const { id, hook_request_id, action_id, event, attempt, method, target_url } = data
    const arrival = receiver.arrivals[index]!
    assert.deepEqual(
      { id, hook_request_id, action_id, event, attempt, method, target_url },
      {
        id: arrival.headers['webhook-id'],
        hook_request_id: records[index]!.id,
        action_id: action,
        event: index === 0 ? 'action.status_changed' : 'test',
        attempt: 1,
        method: 'POST',
        target_url: `${receiver.url}/x?run=${action}`,
      },
    )
    assert.deepEqual([data.body, data.is_truncated], [arrival.body, false])
    assert.deepEqual(new Webhook(hook.secret).verify(data.body, data.headers), arrival.json)
    assert.throws(() => new Webhook(hook.secret).verify(`${data.body} `, data.headers))
  }
  await stream.cut()
})

test('secrets stay masked, and what is masked is what is signed', async (t) => {
  const tree = await createTestTree(db)
  const secret = box.seal(TOKEN, credentialAad(tree.credentialId))
  await db.updateTable('credentials').set({ secret }).where('id', '=', tree.credentialId).execute()
  const receiver = await openReceiver(t)
  const token = '{{ application.source_provider.access_token }}'
  const hook = await makeHook(
    {
      target_url: receiver.url,
      settings: {
        request_headers: [
          { name: 'Authorization', value: `Bearer ${token}` },
          { name: 'X-Key', value: token },
        ],
        request_body: { key: token, status: '{{ action.status }}' },
      },
    },
    tree,
  )
  const stream = await follow(hook, tree)
  await move(await startAction(tree), IN_PROGRESS)
  await untilDelivered(stream, 1)
  assert.equal(receiver.arrivals[0]!.json.key, TOKEN)
  const { data } = deliveriesIn(stream)[0]!
  assert.equal(JSON.stringify(data).includes(TOKEN), false)
  assert.equal(JSON.stringify(data).includes(hook.secret), false)
  assert.deepEqual([data.headers.Authorization, data.headers['X-Key']], ['********', '********'])
  const verified = new Webhook(hook.secret).verify(data.body, data.headers)
  assert.deepEqual(verified, { key: '********', status: 'in-progress' })
  await stream.cut()
})

test('a stream resumes after the last delivery received, without losing or repeating any', async (t) => {
  const tree = await createTestTree(db)
  const receiver = await openReceiver(t)
  const hook = await makeHook({ target_url: receiver.url }, tree)
  const quiet = await follow(hook, tree)
  await quiet.cut()
  const run = async () => move(await startAction(tree), IN_PROGRESS, COMPLETED)
  await run()
  await world.recorded(hook.id, 2)
  const first = await follow(hook, tree, quiet.lastId())
  await untilDelivered(first, 2)
  await first.cut()
  for (let n = 0; n < 15; n += 1) await run()
  const records = await world.recorded(hook.id, 32)
  const second = await follow(hook, tree, first.lastId())
  await untilDelivered(second, 30)
  const ids = [first, second].flatMap((stream) =>
    deliveriesIn(stream).map(({ data }) => data.hook_request_id),
  )
  assert.deepEqual(
    ids,
    records.map(({ id }) => id),
  )
  await second.cut()
  const answer = await openStream(urlOf(hook), tree.owner.token, { lastEventId: 'yesterday' })
  assert.equal(answer.status, 422)
})

test('a delivery that is stored after a newer one is sent as well', async (t) => {
  const tree = await createTestTree(db)
  const receiver = await openReceiver(t)
  const hook = await makeHook({ target_url: receiver.url }, tree)
  const stream = await follow(hook, tree)
  await move(await startAction(tree), IN_PROGRESS)
  await untilDelivered(stream, 1)
  const late = uuidAt(Date.now() - 5_000)
  const [newer] = await world.requests(hook.id)
  await db
    .insertInto('hook_requests')
    .values({
      ...newer!,
      id: late,
      request_headers: JSON.stringify(newer!.request_headers),
      response_headers: null,
    })
    .execute()
  await request('POST', `/hooks/outgoing/${hook.id}/test`, { token: tree.owner.token })
  await untilDelivered(stream, 3)
  const ids = deliveriesIn(stream).map(({ data }) => data.hook_request_id)
  assert.deepEqual(ids.slice(0, 2), [newer!.id, late])
  await stream.cut()
})

test('a stream that catches up looks at little more than it sends', async (t) => {
  const tree = await createTestTree(db)
  const receiver = await openReceiver(t)
  const hook = await makeHook({ target_url: receiver.url }, tree)
  await move(await startAction(tree), IN_PROGRESS)
  const [newest] = await world.recorded(hook.id, 1)
  const headers = { request_headers: JSON.stringify(newest!.request_headers), response_headers: null }
  const past = Array.from({ length: 200 }, (_, n) => uuidAt(Date.now() - (n + 1) * 60_000))
  await db
    .insertInto('hook_requests')
    .values(past.map((id) => ({ ...newest!, ...headers, id })))
    .execute()
  let found = 0
  const counting = db.withPlugin({
    transformQuery: ({ node }) => node,
    async transformResult({ result }) {
      for (const { ids } of result.rows) if (Array.isArray(ids)) found += ids.length
      return result
    },
  })
  const deps = { db: counting, box, wakeUp: createSignal(), signal: new AbortController().signal }
  const position = { cursor: { from: 0, seen: new Set<string>() } }
  const settings = { ...STREAM_SETTINGS, ...LIVE }
  let sent = 0
  for await (const event of streamDeliveries({ ...deps, settings }, hook.id, position)) {
    if (event.includes('event: delivery')) sent += 1
    if (sent === 201) break
  }
  assert.ok(found < 500, `${found} ids for ${sent} deliveries`)
})

suite('a stream of deliveries', () => {
  test('is for users who may edit the hook, with tokens for hooks', async () => {
    const tree = await createTestTree(db)
    const hook = await makeHook({ target_url: 'https://hooks.invalid/' }, tree)
    const viewer = await createMember(db, tree, 'viewer')
    assert.equal((await openStream(urlOf(hook), viewer.token)).status, 403)
    assert.equal((await openStream(urlOf(hook), (await createTestTree(db)).owner.token)).status, 404)
    const statuses = []
    for (const scope of ['read', 'hooks']) {
      const body = { name: scope, scopes: [scope] }
      const made = await request('POST', '/users/personal-access-tokens', { token: tree.owner.token, body })
      const stream = await openStream(urlOf(hook), made.body.token)
      statuses.push(stream.status)
      await stream.cut()
    }
    assert.deepEqual(statuses, [403, 200])
  })

  test('ends when the hook is removed, and when the permission is', async () => {
    const tree = await createTestTree(db)
    const hook = await makeHook({ target_url: 'https://hooks.invalid/' }, tree)
    const developer = await createMember(db, tree, 'developer')
    const [owners, developers] = [await follow(hook, tree), await openStream(urlOf(hook), developer.token)]
    const members = `/organizations/${tree.organizationId}/members/${developer.id}`
    const demotion = { token: tree.owner.token, body: { grants: [{ role: 'viewer' }] } }
    assert.equal((await request('PUT', members, demotion)).status, 200)
    assert.equal(await developers.over, 'ended')
    const removal = await request('DELETE', `/hooks/outgoing/${hook.id}`, { token: tree.owner.token })
    assert.equal(removal.status, 204)
    assert.equal(await owners.over, 'ended')
  })
})
