// What each receiver knows about a run: GET /actions/{id}/notifications.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { COMPLETED, IN_PROGRESS, openDeliveries, openReceiver } from '#test/support/deliveries.ts'
import { openStatusTree, SHA } from '#test/support/reconciling.ts'
import { createMember, createTestTree } from '#test/support/world.ts'

const all = { after }
const world = await openDeliveries(all)
const { db, makeHook, move, request, startAction } = world
const EVERY = { events: ['action.created', 'action.status_changed'] }

async function read(actionId: number, token: string) {
  const { status, body, text } = await request('GET', `/actions/${actionId}/notifications`, { token })
  assert.equal(status, 200, text)
  return body
}

suite('the notifications of an action', () => {
  test('show one entry per hook, by name, with the state of its last delivery', async (t) => {
    const tree = await createTestTree(db)
    const [good, bad] = [await openReceiver(t), await openReceiver(t)]
    bad.answer(500)
    const hooks = {
      failing: await makeHook({ name: 'B', target_url: `${bad.url}/secret`, trigger_when: EVERY }, tree),
      fine: await makeHook({ name: 'A', target_url: good.url, trigger_when: EVERY }, tree),
    }
    const conditions = [{ path: 'action.status', equals: 'failed' }]
    await makeHook({ name: 'C', target_url: good.url, trigger_when: { ...EVERY, conditions } }, tree)
    await makeHook({ name: 'D', target_url: good.url, trigger_when: { events: ['action.failed'] } }, tree)
    const id = await startAction(tree)
    await move(id, IN_PROGRESS)
    await world.untilIdle(hooks.fine.id)
    await world.recorded(hooks.failing.id, 1)
    const [first, second] = await read(id, tree.owner.token)
    assert.deepEqual(
      [first.hook_name, first.state, first.remote_state, first.captured, first.repairs, first.preset],
      ['A', 'delivered', 'not_checked', {}, 0, null],
    )
    assert.deepEqual([first.attempts, first.response_status_code, first.last_error], [1, 200, null])
    assert.equal(first.last_request_id, (await world.requests(hooks.fine.id)).at(-1)!.id)
    assert.deepEqual(
      [second.hook_name, second.state, second.last_error, second.receiver],
      ['B', 'retrying', 'The receiver returned 500.', new URL(bad.url).host],
    )
    assert.ok(Date.parse(second.next_attempt_at) > Date.now())

    await move(id, COMPLETED)
    await world.exhaust(hooks.failing.id)
    const [, failed] = await read(id, tree.owner.token)
    assert.deepEqual([failed.state, failed.next_attempt_at, failed.attempts], ['failed', null, 10])
  })

  test('name the host that a preset notifies now, after its credential has got another URL', async (t) => {
    const receiver = await openReceiver(t)
    const tree = await openStatusTree(world, 'gitea', 'http://127.0.0.1:9')
    await makeHook({ settings: { preset: { kind: 'gitea_status' } } }, tree)
    const { credentialId } = tree
    await db
      .updateTable('credentials')
      .set({ base_url: receiver.url })
      .where('id', '=', credentialId)
      .execute()
    const [shown] = await read(await startAction(tree, { commit: SHA }), tree.owner.token)
    assert.equal(shown.receiver, new URL(receiver.url).host)
  })

  test('say that a receiver which keeps failing is spared, and until when', async (t) => {
    const tree = await createTestTree(db)
    const receiver = await openReceiver(t)
    receiver.answer(503)
    const hook = await makeHook({ target_url: receiver.url, trigger_when: EVERY }, tree)
    const ids = []
    for (let n = 0; n < 5; n += 1) ids.push(await startAction(tree))
    await world.untilFailing(hook.id, 5)
    const until = (await world.health(hook.id))!.open_until
    const [shown] = await read(ids[0]!, tree.owner.token)
    assert.deepEqual([shown.state, shown.paused_until], ['paused', until])
    assert.match(shown.paused_reason, /attempts failed/)
    assert.ok(shown.next_attempt_at >= until!)
  })

  test('show what was captured: hidden values masked, and all of them without hook:edit', async (t) => {
    const tree = await createTestTree(db)
    const receiver = await openReceiver(t)
    receiver.answer(200, {}, '{"id": 12, "key": "k3y-k3y"}')
    const capture = [
      { name: 'id', path: 'id', type: 'integer' },
      { name: 'key', path: 'key', hidden: true },
    ]
    const hook = await makeHook(
      { target_url: receiver.url, settings: { capture }, trigger_when: EVERY },
      tree,
    )
    const id = await startAction(tree)
    await world.recorded(hook.id, 1)
    const [shown] = await read(id, tree.owner.token)
    assert.deepEqual(shown.captured, { id: 12, key: '********' })
    const viewer = await createMember(db, tree, 'viewer')
    assert.deepEqual((await read(id, viewer.token))[0].captured, { id: '********', key: '********' })
  })

  test('need the permissions to see the action and its hooks', async () => {
    const tree = await createTestTree(db)
    const id = await startAction(tree)
    const path = `/actions/${id}/notifications`
    const viewer = await createMember(db, tree, 'viewer')
    assert.equal((await request('GET', path, { token: viewer.token })).status, 200)
    const stranger = (await createTestTree(db)).owner
    assert.equal((await request('GET', path, { token: stranger.token })).status, 404)
    assert.equal((await request('GET', path)).status, 401)
    const missing = await request('GET', '/actions/999999999/notifications', { token: tree.owner.token })
    assert.equal(missing.status, 404)
  })
})
