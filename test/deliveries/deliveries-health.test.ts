// What a hook, its attempts and the overview say about the health of its receiver.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import type { HookHealth } from '#model/hooks/health.ts'
import { COMPLETED, IN_PROGRESS, openDeliveries, openReceiver } from '#test/support/deliveries.ts'
import { untilTrue } from '#test/support/until.ts'
import { createTestTree, type TestTree } from '#test/support/world.ts'
import type { HookRequestRecord } from '#views/hook-requests/schemas.ts'

const world = await openDeliveries({ after })
const { db, makeHook, move, startAction } = world

async function open(t: Parameters<typeof openReceiver>[0], status: number, more: object = {}) {
  const receiver = await openReceiver(t)
  receiver.answer(status)
  const tree = await createTestTree(db)
  const hook = await makeHook({ target_url: receiver.url, settings: { request_body: {} }, ...more }, tree)
  return { receiver, tree, hook }
}

async function get(path: string, { owner }: TestTree) {
  const answer = await world.request('GET', path, { token: owner.token })
  assert.equal(answer.status, 200, answer.text)
  return answer.body
}

/** As a page of the hook, the list of its environment and the overview show it. */
async function healthOf(hookId: string, tree: TestTree): Promise<HookHealth> {
  const { health } = await get(`/hooks/outgoing/${hookId}`, tree)
  const [listed] = await get(`/environments/${tree.environmentId}/hooks`, tree)
  const [failing] = (await get('/overview', tree)).deliveries.failing
  assert.deepEqual(listed.health, health)
  if (failing) assert.deepEqual(failing.health, health)
  assert.equal(failing === undefined, ['active', 'inactive'].includes(health.state))
  return health
}

const attemptsOf = (hookId: string, tree: TestTree): Promise<HookRequestRecord[]> =>
  get(`/hooks/outgoing/${hookId}/requests`, tree)

suite('a hook whose receiver fails', () => {
  test('is failing from the first attempt on, until a delivery succeeds', async (t) => {
    const { receiver, tree, hook } = await open(t, 500)
    assert.equal((await healthOf(hook.id, tree)).state, 'active')
    await move(await startAction(tree), IN_PROGRESS)
    await world.untilFailing(hook.id, 1)
    const [delivery] = await world.untilIdle(hook.id)
    const health = await healthOf(hook.id, tree)
    assert.deepEqual(
      { ...health, failing_since: null },
      {
        state: 'failing',
        failures_in_a_row: 1,
        failing_since: null,
        next_attempt_at: delivery!.due_at,
        last_error: 'The receiver returned 500.',
      },
    )
    assert.ok(Date.now() - Date.parse(health.failing_since!) < 60_000)
    receiver.answer(200)
    await world.passTime(hook.id, 60)
    await receiver.until(2)
    await untilTrue(async () => (await world.health(hook.id)) === undefined)
    assert.equal((await healthOf(hook.id, tree)).state, 'active')
    // Neither the attempt that failed nor the one that succeeded is followed by another.
    const attempts = await attemptsOf(hook.id, tree)
    assert.deepEqual(
      attempts.map(({ outcome, next_attempt_at }) => [outcome, next_attempt_at]),
      [
        ['delivered', null],
        ['refused', null],
      ],
    )
  })

  test('is paused after five failures, and the next attempt comes after the pause, everywhere', async (t) => {
    const { tree, hook } = await open(t, 500)
    for (let number = 0; number < 5; number += 1) await move(await startAction(tree), IN_PROGRESS)
    await world.untilFailing(hook.id, 5)
    const open_until = new Date(Date.now() + 1_800_000)
    await db.updateTable('hook_health').set({ open_until }).where('hook_id', '=', hook.id).execute()
    const health = await healthOf(hook.id, tree)
    assert.deepEqual(
      [health.state, health.failures_in_a_row, health.next_attempt_at],
      ['paused', 5, open_until.toISOString()],
    )
    const attempts = await attemptsOf(hook.id, tree)
    assert.equal(attempts.length, 5)
    for (const attempt of attempts) {
      assert.equal(attempt.next_attempt_at, open_until.toISOString())
      const alone = await get(`/hook-requests/${attempt.id}`, tree)
      assert.equal(alone.next_attempt_at, attempt.next_attempt_at)
      const [ofAction] = await get(`/actions/${attempt.action_id}/hook-requests`, tree)
      assert.equal(ofAction.next_attempt_at, attempt.next_attempt_at)
    }
  })

  test('is not about to send what has to wait for an earlier event', async (t) => {
    const events = ['action.created', 'action.status_changed']
    const { tree, hook } = await open(t, 500, { trigger_when: { events } })
    const action = await startAction(tree)
    await world.untilFailing(hook.id, 1)
    await move(action, IN_PROGRESS)
    await untilTrue(async () => (await world.deliveries(hook.id)).length === 2)
    // As it is stored while the first attempt is in progress.
    await db
      .updateTable('deliveries')
      .set({ due_at: new Date() })
      .where('hook_id', '=', hook.id)
      .where('attempts', '=', 0)
      .execute()
    const [first, second] = await world.deliveries(hook.id)
    assert.ok(second!.due_at < first!.due_at)
    assert.equal((await healthOf(hook.id, tree)).next_attempt_at, first!.due_at)
  })

  test('has no next attempt when all that was to be sent has failed', async (t) => {
    const { tree, hook } = await open(t, 400)
    await move(await startAction(tree), IN_PROGRESS)
    await untilTrue(async () => (await world.health(hook.id))?.failed_deliveries === 1)
    const { failing_since, ...health } = await healthOf(hook.id, tree)
    assert.ok(failing_since)
    assert.deepEqual(health, {
      state: 'failing',
      failures_in_a_row: 1,
      next_attempt_at: null,
      last_error: 'The receiver returned 400.',
    })
  })

  test('is disabled when Gantry gave up, and inactive when a person disabled it', async (t) => {
    const { tree, hook } = await open(t, 410)
    const action = await startAction(tree)
    await move(action, IN_PROGRESS, COMPLETED)
    await untilTrue(async () => (await get(`/hooks/outgoing/${hook.id}`, tree)).active === false)
    const { state: _, ...health } = await healthOf(hook.id, tree)
    const nothing = { failures_in_a_row: 0, failing_since: null, next_attempt_at: null }
    assert.deepEqual(health, { ...nothing, last_error: 'The receiver returned 410.' })

    const other = await open(t, 500)
    await move(await startAction(other.tree), IN_PROGRESS)
    await world.untilFailing(other.hook.id, 1)
    await world.change(other.hook.id, { active: false }, other.tree.owner.token)
    const off = await healthOf(other.hook.id, other.tree)
    assert.deepEqual(off, { ...nothing, state: 'inactive', last_error: null })
    const [attempt] = await attemptsOf(other.hook.id, other.tree)
    assert.equal(attempt!.next_attempt_at, null)
  })
})

test('an incoming hook has no such health', async () => {
  const { tree } = world
  const answer = await world.request('POST', `/pipelines/${tree.pipelineId}/hooks/incoming`, {
    token: tree.owner.token,
    body: { name: 'Push' },
  })
  assert.equal(answer.body.health, null)
})
