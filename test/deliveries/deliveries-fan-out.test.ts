import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { openSchedulingPass } from '#engine/scheduling/scheduling-pass.ts'
import type { State } from '#model/actions/status.ts'
import { COMPLETED, FAILED, IN_PROGRESS, openDeliveries } from '#test/support/deliveries.ts'
import { createHook, createTestTree, type TestTree } from '#test/support/world.ts'

// No worker runs here, so pending deliveries can be inspected.
const world = await openDeliveries({ after }, { delivers: false })
const { api, db, makeHook, move, startAction } = world

const TARGET = { target_url: 'http://127.0.0.1:9/' }
const WAITING: State = { status: 'waiting', reason: 'WAITING_CONCURRENCY_TARGET' }
const SKIPPED: State = { status: 'skipped', reason: 'SKIPPED' }
const QUEUED: State = { status: 'queued', reason: 'QUEUED' }

const listening = (at: TestTree, events: string[], more: object = {}) =>
  makeHook({ ...TARGET, trigger_when: { events, ...more } }, at)

/** The status changes that a hook is notified of, such as `queued→in-progress`. */
async function movesOf(hookId: string): Promise<string[]> {
  const rows = await db
    .selectFrom('deliveries')
    .innerJoin('events', 'events.id', 'deliveries.event_id')
    .select(['previous_status', 'status'])
    .where('hook_id', '=', hookId)
    .orderBy('events.id')
    .execute()
  return rows.map(({ previous_status, status }) => `${previous_status ?? ''}→${status}`)
}

suite('a hook is notified of', () => {
  test('the event kinds that it subscribes to, and nothing else', async () => {
    const tree = await createTestTree(db)
    const kinds = ['created', 'queued', 'started', 'completed', 'failed', 'skipped', 'status_changed']
    const hooks = new Map<string, string>()
    for (const kind of kinds) hooks.set(kind, (await listening(tree, [`action.${kind}`])).id)
    await move(await startAction(tree), WAITING, QUEUED, IN_PROGRESS, COMPLETED)
    await move(await startAction(tree), IN_PROGRESS, FAILED)
    await move(await startAction(tree), SKIPPED)
    const received = await Promise.all(kinds.map(async (kind) => [kind, await movesOf(hooks.get(kind)!)]))
    assert.deepEqual(Object.fromEntries(received), {
      created: ['→queued', '→queued', '→queued'],
      queued: ['→queued', 'waiting→queued', '→queued', '→queued'],
      started: ['queued→in-progress', 'queued→in-progress'],
      completed: ['in-progress→completed'],
      failed: ['in-progress→failed'],
      skipped: ['queued→skipped'],
      status_changed: [
        'queued→waiting',
        'waiting→queued',
        'queued→in-progress',
        'in-progress→completed',
        'queued→in-progress',
        'in-progress→failed',
        'queued→skipped',
      ],
    })
  })

  test('no change of the reason while the status stays the same', async () => {
    const tree = await createTestTree(db)
    const hook = await listening(tree, ['action.status_changed', 'action.started'])
    const action = await startAction(tree)
    await move(action, IN_PROGRESS, { status: 'in-progress', reason: 'PENDING' }, IN_PROGRESS)
    assert.deepEqual(await movesOf(hook.id), ['queued→in-progress'])
  })

  test('actions of its pipeline, or of all pipelines of its resource with scope resource', async () => {
    const tree = await createTestTree(db)
    const other = await createTestTree(db)
    const addPipeline = async (at: TestTree, values: object) => {
      const of = { environment_id: at.environmentId, created_by: at.owner.id, name: 'Another' }
      const row = {
        ...of,
        resource_type: 'application',
        application_id: at.applicationId,
        operation: 'deploy',
      }
      const { id } = await db
        .insertInto('pipelines')
        .values({ ...row, ...values } as never)
        .returning('id')
        .executeTakeFirstOrThrow()
      return { ...at, pipelineId: id }
    }
    const sibling = await addPipeline(tree, {})
    const restarting = await addPipeline(tree, { operation: 'restart' })
    const own = await listening(tree, ['action.created'])
    const all = await listening(tree, ['action.created'], { scope: 'resource' })
    const restarts = await makeHook(
      {
        ...TARGET,
        action_type: 'restart',
        trigger_when: { events: ['action.created'], scope: 'resource' },
      },
      tree,
    )
    for (const at of [tree, sibling, other]) await startAction(at)
    const restart = await startAction(restarting, {}, 'restart')
    assert.equal((await movesOf(own.id)).length, 1)
    // Not of the restart pipeline: that is another type of action.
    assert.equal((await movesOf(all.id)).length, 2)
    assert.deepEqual(
      (await world.deliveries(restarts.id)).map(({ action_id }) => action_id),
      [restart],
    )
    const { token } = tree.owner
    const url = `/hooks/outgoing/${restarts.id}`
    const preview = await api.request('POST', `${url}/preview`, { token, body: {} })
    assert.equal(preview.body.action_id, restart)
    const redelivery = { from: '2020-01-01T00:00:00Z', only_failed: false, dry_run: true }
    const redelivered = await api.request('POST', `${url}/redeliver`, { token, body: redelivery })
    assert.equal(redelivered.status, 200, redelivered.text)
  })

  test('another type of action once a change selects it', async () => {
    const tree = await createTestTree(db)
    const { token } = tree.owner
    const hook = await listening(tree, ['action.created'])
    const change = (body: object) => world.change(hook.id, body, token)
    const events = ['action.created']
    const refused = await change({ action_type: 'restart' })
    assert.equal(refused.status, 422)
    assert.deepEqual(Object.keys(refused.body.errors), ['action_type'])
    const changed = await change({ action_type: 'restart', trigger_when: { events, scope: 'resource' } })
    assert.equal(changed.status, 200, changed.text)
    assert.equal(changed.body.action_type, 'restart')
    assert.equal((await change({ action_type: 'stop' })).body.action_type, 'stop')
    // Back to the pipeline alone, which has no such actions.
    assert.equal((await change({ trigger_when: { events } })).status, 422)
    const back = await change({ action_type: 'deploy', trigger_when: { events } })
    assert.equal(back.body.action_type, 'deploy')
    await startAction(tree)
    assert.equal((await movesOf(hook.id)).length, 1)
  })

  test('nothing while it is disabled, and nothing after it was removed', async () => {
    const tree = await createTestTree(db)
    const off = await listening(tree, ['action.created'])
    const gone = await listening(tree, ['action.created'])
    const { token } = tree.owner
    assert.equal((await world.change(off.id, { active: false }, token)).status, 200)
    assert.equal((await api.request('DELETE', `/hooks/outgoing/${gone.id}`, { token })).status, 204)
    await createHook(db, tree, 'incoming', { trigger_when: JSON.stringify({ events: ['action.created'] }) })
    await startAction(tree)
    assert.deepEqual([await movesOf(off.id), await movesOf(gone.id)], [[], []])
    const made = await db
      .selectFrom('deliveries')
      .innerJoin('actions', 'actions.id', 'deliveries.action_id')
      .select('deliveries.id')
      .where('pipeline_id', '=', tree.pipelineId)
      .execute()
    assert.deepEqual(made, [])
  })

  test('a status change in the same transaction: a rollback leaves no delivery', async () => {
    const tree = await createTestTree(db)
    const hook = await listening(tree, ['action.status_changed'])
    const action = await startAction(tree)
    const failing = db.transaction().execute(async (trx) => {
      const round = await openSchedulingPass(trx, tree.environmentId)
      const [live] = await round.load([action])
      round.moveAction(live!, IN_PROGRESS)
      await round.flush()
      const inside = await trx.selectFrom('deliveries').selectAll().where('hook_id', '=', hook.id).execute()
      assert.equal(inside.length, 1)
      throw new Error('on second thoughts')
    })
    await assert.rejects(failing, /on second thoughts/)
    assert.deepEqual(await movesOf(hook.id), [])
  })
})

suite('a run that a call starts', () => {
  async function openCalled() {
    const tree = await createTestTree(db)
    const made = await api.request('POST', `/pipelines/${tree.pipelineId}/hooks/incoming`, {
      token: tree.owner.token,
      body: { name: 'Push' },
    })
    const { pathname } = new URL(made.body.url)
    const call = async () => {
      const answer = await api.request('POST', pathname, { body: {} })
      assert.equal(answer.status, 202, answer.text)
      return answer.body.action_id as number
    }
    return { tree, call }
  }

  for (const kind of ['action.created', 'action.queued']) {
    test(`creates the delivery of ${kind} before the caller gets a response`, async () => {
      const { tree, call } = await openCalled()
      const hook = await listening(tree, [kind])
      const action = await call()
      const deliveries = await world.deliveries(hook.id)
      assert.deepEqual(
        deliveries.map(({ action_id, state }) => ({ action_id, state })),
        [{ action_id: action, state: 'pending' }],
      )
    })
  }

  test('notifies hooks that are created, changed and removed while calls arrive', async () => {
    const { tree, call } = await openCalled()
    await call()
    const hook = await listening(tree, ['action.failed'])
    await call()
    const { token } = tree.owner
    await world.change(hook.id, { trigger_when: { events: ['action.created'] } }, token)
    await call()
    await call()
    assert.equal((await movesOf(hook.id)).length, 2)
    await api.request('DELETE', `/hooks/outgoing/${hook.id}`, { token })
    await call()
    assert.equal((await movesOf(hook.id)).length, 2)
  })
})
