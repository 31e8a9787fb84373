import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, suite, test } from 'node:test'
import { credentialAad } from '#model/inventory/sealed-aad.ts'
import { COMPLETED, IN_PROGRESS, openDeliveries, openReceiver } from '#test/support/deliveries.ts'
import { untilTrue } from '#test/support/until.ts'
import { createMember, createTestTree, type TestTree } from '#test/support/world.ts'

const world = await openDeliveries({ after })
const { box, db, makeHook, move, request, startAction } = world

const NOTIFYING = { settings: { request_body: { action: '{{ action.id }}', status: '{{ action.status }}' } } }

async function openReceivingHook(t: Parameters<typeof openReceiver>[0], status = 200) {
  const receiver = await openReceiver(t)
  receiver.answer(status)
  const tree = await createTestTree(db)
  const hook = await makeHook({ target_url: receiver.url, ...NOTIFYING }, tree)
  const received = () => receiver.arrivals.map(({ json }) => `${json.action} ${json.status}`)
  const redeliver = (body: object, token = tree.owner.token) =>
    request('POST', `/hooks/outgoing/${hook.id}/redeliver`, { token, body })
  return { receiver, tree, hook, received, redeliver }
}

/** A run from start to end, delivered or not. */
async function runOnce(tree: TestTree, hookId: string): Promise<number> {
  const action = await startAction(tree)
  await move(action, IN_PROGRESS)
  await world.untilIdle(hookId)
  await move(action, COMPLETED)
  await world.untilIdle(hookId)
  return action
}

/** Moves the events of an action into the past. */
const happened = (action: number, occurred_at: string) =>
  db.updateTable('events').set({ occurred_at }).where('action_id', '=', action).execute()

suite('redelivering a time range', () => {
  const FROM = '2026-01-01T00:00:00.000Z'
  const TO = '2026-02-01T00:00:00.000Z'

  test('counts in a dry run, then sends what was not delivered, in order', async (t) => {
    const { receiver, tree, hook, received, redeliver } = await openReceivingHook(t, 400)
    const failed = await runOnce(tree, hook.id)
    receiver.answer(200)
    await runOnce(tree, hook.id)
    receiver.arrivals.length = 0
    const counted = await redeliver({ from: FROM, dry_run: true })
    assert.deepEqual([counted.status, counted.body], [200, { deliveries: 2, dry_run: true }])
    assert.equal(receiver.arrivals.length, 0)

    const sent = await redeliver({ from: FROM })
    assert.deepEqual([sent.status, sent.body], [202, { deliveries: 2, dry_run: false }])
    await receiver.until(2)
    await world.untilIdle(hook.id)
    assert.deepEqual(received(), [`${failed} in-progress`, `${failed} completed`])
    assert.equal((await redeliver({ from: FROM, dry_run: true })).body.deliveries, 0)
  })

  test('also sends delivered events on request, with their original ids', async (t) => {
    const { receiver, tree, hook, received, redeliver } = await openReceivingHook(t)
    const action = await runOnce(tree, hook.id)
    const ids = receiver.arrivals.map(({ headers }) => headers['webhook-id'])
    const sent = await redeliver({ from: FROM, only_failed: false })
    assert.deepEqual([sent.status, sent.body.deliveries], [202, 2])
    await receiver.until(4)
    assert.deepEqual(received().slice(2), [`${action} in-progress`, `${action} completed`])
    assert.deepEqual(
      receiver.arrivals.slice(2).map(({ headers }) => headers['webhook-id']),
      ids,
    )
  })

  test('includes the start of the range and excludes its end', async (t) => {
    const { tree, hook, redeliver } = await openReceivingHook(t, 400)
    const moments = ['2025-12-31T23:59:59.999Z', FROM, '2026-01-31T23:59:59.999Z', TO]
    for (const moment of moments) await happened(await runOnce(tree, hook.id), moment)
    const count = async (from: string, to: string) =>
      (await redeliver({ from, to, dry_run: true })).body.deliveries
    assert.equal(await count(FROM, TO), 4)
    assert.equal(await count(moments[0]!, FROM), 2)
    assert.equal(await count('2026-01-10T00:00:00Z', '2026-01-20T00:00:00Z'), 0)
  })

  test('sends events in the order in which they occurred', async (t) => {
    const { tree, hook, redeliver } = await openReceivingHook(t, 400)
    const first = await runOnce(tree, hook.id)
    const second = await runOnce(tree, hook.id)
    await happened(first, '2026-01-20T00:00:00.000Z')
    await happened(second, '2026-01-10T00:00:00.000Z')
    assert.equal((await redeliver({ from: FROM, to: TO })).body.deliveries, 4)
    // With one due time for all, every claim would have to sort the rest.
    const due = (await world.deliveries(hook.id)).map(({ action_id, due_at }) => [action_id, due_at])
    assert.deepEqual(due, [
      [first, '2026-01-20T00:00:00.000Z'],
      [first, '2026-01-20T00:00:00.000Z'],
      [second, '2026-01-10T00:00:00.000Z'],
      [second, '2026-01-10T00:00:00.000Z'],
    ])
  })

  test('rejects a start in the year 0', async (t) => {
    const { redeliver } = await openReceivingHook(t)
    for (const from of ['0000-01-01T00:00:00Z', '2026-02-30T00:00:00Z', 'yesterday']) {
      const { status, body } = await redeliver({ from, dry_run: true })
      assert.equal(status, 422, from)
      assert.deepEqual(Object.keys(body.errors), ['from'])
    }
  })

  test('leaves pending deliveries alone', async (t) => {
    const { receiver, tree, hook, redeliver } = await openReceivingHook(t, 503)
    await move(await startAction(tree), IN_PROGRESS)
    await world.recorded(hook.id, 1)
    assert.equal((await redeliver({ from: FROM, only_failed: false, dry_run: true })).body.deliveries, 0)
    assert.equal((await redeliver({ from: FROM, only_failed: false })).status, 202)
    const [delivery] = await world.deliveries(hook.id)
    assert.deepEqual([delivery!.state, delivery!.attempts], ['pending', 1])
    assert.equal(receiver.arrivals.length, 1)
  })

  test('is rejected for an empty range, a disabled hook, and callers who may not edit hooks', async (t) => {
    const { tree, hook, redeliver } = await openReceivingHook(t)
    const viewer = await createMember(db, tree, 'viewer')
    const stranger = (await createTestTree(db)).owner
    assert.equal((await redeliver({ from: FROM }, viewer.token)).status, 403)
    assert.equal((await redeliver({ from: FROM }, stranger.token)).status, 404)
    for (const body of [{ from: TO, to: FROM }, { from: FROM, to: FROM }, {}, { from: 'yesterday' }]) {
      const answer = await redeliver(body)
      assert.equal(answer.status, 422, JSON.stringify(body))
    }
    await world.change(hook.id, { active: false }, tree.owner.token)
    assert.equal((await redeliver({ from: FROM })).status, 409)
    assert.equal((await redeliver({ from: FROM, dry_run: true })).status, 200)
  })
})

suite('replaying a delivery', () => {
  const replay = (recordId: string, token: string) =>
    request('POST', `/hook-requests/${recordId}/replay`, { token })

  test('sends it immediately, with the same id, and the new record refers to the old one', async (t) => {
    const { receiver, tree, hook, received } = await openReceivingHook(t)
    const action = await runOnce(tree, hook.id)
    const [first] = await world.requests(hook.id)
    const answer = await replay(first!.id, tree.owner.token)
    assert.deepEqual([answer.status, answer.body.action_id], [202, action])
    await receiver.until(3)
    assert.equal(received()[2], `${action} in-progress`)
    const [original, , again] = receiver.arrivals
    assert.equal(again!.headers['webhook-id'], original!.headers['webhook-id'])
    const record = (await world.recorded(hook.id, 3))[2]!
    assert.deepEqual([record.retry_of, record.outcome, record.attempt], [first!.id, 'delivered', 1])
  })

  test('restarts the attempts, and each record refers to the replayed one', async (t) => {
    const { receiver, tree, hook } = await openReceivingHook(t, 500)
    await move(await startAction(tree), IN_PROGRESS)
    await world.exhaust(hook.id)
    const last = (await world.requests(hook.id)).at(-1)!
    assert.equal(last.attempt, 10)
    assert.equal((await replay(last.id, tree.owner.token)).status, 202)
    await untilTrue(async () => {
      if ((await world.requests(hook.id)).length >= 11) return true
      await world.passTime(hook.id, 120)
      return false
    })
    receiver.answer(200)
    const [delivery] = await world.exhaust(hook.id)
    assert.deepEqual([delivery!.state, delivery!.attempts], ['delivered', 2])
    const again = (await world.requests(hook.id)).slice(10)
    assert.deepEqual(
      again.map(({ attempt, retry_of }) => ({ attempt, retry_of })),
      [1, 2].map((attempt) => ({ attempt, retry_of: last.id })),
    )
  })

  test('requires hook:edit, an active hook, and a delivery that is not in progress', async (t) => {
    const { receiver, tree, hook } = await openReceivingHook(t, 400)
    await move(await startAction(tree), IN_PROGRESS)
    const [record] = await world.recorded(hook.id, 1)
    const { token } = tree.owner
    const viewer = await createMember(db, tree, 'viewer')
    const developer = await createMember(db, tree, 'developer')
    assert.equal((await replay(record!.id, viewer.token)).status, 403)
    assert.equal((await replay(record!.id, (await createTestTree(db)).owner.token)).status, 404)
    assert.equal((await replay(randomUUID(), token)).status, 404)

    const { promise: mayEnd, resolve: letEnd } = Promise.withResolvers<void>()
    receiver.behave((_, response) => void mayEnd.then(() => response.end()))
    assert.equal((await replay(record!.id, developer.token)).status, 202)
    await receiver.until(2)
    assert.equal((await replay(record!.id, token)).status, 409)
    letEnd()
    await world.recorded(hook.id, 2)
    await world.change(hook.id, { active: false }, token)
    assert.equal((await replay(record!.id, token)).status, 409)
  })
})

const preview = (hookId: string, token: string, body?: object) =>
  request('POST', `/hooks/outgoing/${hookId}/preview`, { token, body })

suite('a preview', () => {
  test('shows what would be sent for the newest action or a given one, and sends nothing', async (t) => {
    const receiver = await openReceiver(t)
    const tree = await createTestTree(db)
    const { token } = tree.owner
    const hook = await makeHook(
      {
        target_url: `${receiver.url}/{{ action.id }}`,
        trigger_when: { events: ['action.skipped'] },
        settings: {
          request_method: 'PUT',
          request_headers: [{ name: 'X-Status', value: '{{ action.status }}' }],
          request_body: { kind: '{{ event.kind }}', before: '{{ event.previous_status }}' },
        },
      },
      tree,
    )
    const none = await preview(hook.id, token)
    assert.equal(none.status, 409, none.text)

    const first = await startAction(tree)
    await move(first, IN_PROGRESS, COMPLETED)
    const newest = await startAction(tree)
    const shown = await preview(hook.id, token)
    assert.equal(shown.status, 200, shown.text)
    assert.equal(shown.body.action_id, newest)
    assert.equal(shown.body.url, `${receiver.url}/${newest}`)
    const given = (await preview(hook.id, token, { action_id: first })).body
    assert.deepEqual([given.action_id, given.method, given.unmet_condition], [first, 'PUT', null])
    assert.deepEqual(given.headers, { 'X-Status': 'completed' })
    assert.deepEqual(JSON.parse(given.body), { kind: 'action.status_changed', before: 'in-progress' })
    assert.equal(given.access_token, 'not used')
    assert.deepEqual(given.receiver, {
      host: '127.0.0.1',
      addresses: ['127.0.0.1'],
      allowed: true,
      message: 'The address is allowed.',
    })
    assert.equal(receiver.arrivals.length, 0)
  })

  test('names the condition that prevents the request', async () => {
    const tree = await createTestTree(db)
    const conditions = [{ path: 'action.status', accepted_values: ['failed'] }]
    const hook = await makeHook({ target_url: 'http://127.0.0.1:9/', trigger_when: { conditions } }, tree)
    await startAction(tree)
    const shown = await preview(hook.id, tree.owner.token)
    assert.equal(shown.body.unmet_condition, 'action.status')
    assert.equal(JSON.parse(shown.body.body).action.status, 'queued')
  })

  test('masks the token, and says when it may not be used', async () => {
    const tree = await createTestTree(db)
    const secret = box.seal('glpat-very-secret-token', credentialAad(tree.credentialId))
    await db.updateTable('credentials').set({ secret }).where('id', '=', tree.credentialId).execute()
    const value = 'Bearer {{ application.source_provider.access_token }}'
    const settings = { request_headers: [{ name: 'Authorization', value }] }
    const hook = await makeHook({ target_url: 'http://127.0.0.1:9/', settings }, tree)
    await startAction(tree)
    const shown = await preview(hook.id, tree.owner.token)
    assert.deepEqual(shown.body.headers, { Authorization: 'Bearer ********' })
    assert.equal(shown.body.access_token, 'used; masked in this preview')
    assert.ok(!shown.text.includes('glpat'))

    const developer = await createMember(db, tree, 'developer')
    await db.updateTable('hooks').set({ edited_by: developer.id }).where('id', '=', hook.id).execute()
    const refused = await preview(hook.id, developer.token)
    assert.match(refused.body.access_token, /credential:run/)
    assert.ok(!refused.text.includes('glpat'))
  })

  test('says when the address of the receiver is not allowed', async () => {
    const tree = await createTestTree(db)
    const hook = await makeHook({ target_url: 'http://127.0.0.1:9/' }, tree)
    await db
      .updateTable('hooks')
      .set({ target_url: 'http://169.254.169.254/latest' })
      .where('id', '=', hook.id)
      .execute()
    await startAction(tree)
    const { receiver } = (await preview(hook.id, tree.owner.token)).body
    assert.deepEqual([receiver.allowed, receiver.addresses], [false, []])
    assert.match(receiver.message, /169\.254\.169\.254 may not be reached/)
  })

  test('names the field that cannot be rendered for this action', async () => {
    const tree = await createTestTree(db)
    const value = '{{ action.triggered_from.hook_parsed_variables.note }}'
    const settings = { request_headers: [{ name: 'X-Note', value }] }
    const hook = await makeHook({ target_url: 'http://127.0.0.1:9/', settings }, tree)
    await startAction(tree, { note: 'x'.repeat(9_000) })
    const answer = await preview(hook.id, tree.owner.token)
    assert.equal(answer.status, 422, answer.text)
    assert.match(answer.body.errors['settings.request_headers.0.value'][0], /longer than 8192/)
  })

  test('accepts only actions that match the hook, and requires hook:edit', async () => {
    const tree = await createTestTree(db)
    const other = await createTestTree(db)
    const hook = await makeHook({ target_url: 'http://127.0.0.1:9/' }, tree)
    await startAction(tree)
    const foreign = await startAction(other)
    for (const action_id of [foreign, 999_999]) {
      const answer = await preview(hook.id, tree.owner.token, { action_id })
      assert.equal(answer.status, 404)
      assert.deepEqual(Object.keys(answer.body.errors), ['action_id'])
    }
    const viewer = await createMember(db, tree, 'viewer')
    assert.equal((await preview(hook.id, viewer.token)).status, 403)
    assert.equal((await preview(hook.id, other.owner.token)).status, 404)
  })
})
