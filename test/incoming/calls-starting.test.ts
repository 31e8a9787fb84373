// Whether the pipeline of a call can run, and its queue policy.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import { DEPLOY_STEPS } from '#model/pipelines/built-in-steps.ts'
import { assertRejected, assertStarted, openCalls } from '#test/support/calls.ts'
import { openTestApp } from '#test/support/harness.ts'
import { createAction, createHook, createHookRequest, createTestTree } from '#test/support/world.ts'

const { api, db, tree, makeHook, archive, call, actionsOf, requestsOf, setPipeline } = await openCalls({
  after,
})

suite('pipelines that cannot run', () => {
  test('without servers, without steps or in an archived environment a call is 409 and recorded', async () => {
    const at = await createTestTree(db)
    const hook = await makeHook({}, at)
    const rejection = async () => {
      const answer = await call(hook)
      assertRejected(answer, 409, 'conflict')
      return answer.body.message
    }
    await archive(at)
    assert.equal(await rejection(), 'The environment of the pipeline is archived.')
    await archive(at, null)
    assertStarted(await call(hook))
    await db.deleteFrom('application_servers').where('application_id', '=', at.applicationId).execute()
    assert.equal(await rejection(), 'The pipeline has no servers to run on.')
    const link = {
      application_id: at.applicationId,
      server_id: at.serverIds[1]!,
      environment_id: at.environmentId,
    }
    await db.insertInto('application_servers').values(link).execute()
    await db.deleteFrom('pipeline_steps').where('pipeline_id', '=', at.pipelineId).execute()
    assert.equal(await rejection(), 'The pipeline has no steps.')
    assert.equal((await actionsOf(hook)).length, 1)
    const records = await requestsOf(hook)
    assert.deepEqual(
      records.map(({ outcome, response_status_code, action_id }) => [
        outcome,
        response_status_code,
        action_id !== null,
      ]),
      [
        ['rejected_state', 409, false],
        ['accepted', 202, true],
        ['rejected_state', 409, false],
        ['rejected_state', 409, false],
      ],
    )
  })
})

suite('queue policies', () => {
  const statesOf = async (...ids: number[]) => {
    const rows = await db.selectFrom('actions').select(['id', 'status']).where('id', 'in', ids).execute()
    return ids.map((id) => rows.find((row) => row.id === id)!.status)
  }

  test('queue accepts every run', async () => {
    const at = await createTestTree(db)
    const hook = await makeHook({}, at)
    const ids = [await call(hook), await call(hook), await call(hook)].map(assertStarted)
    assert.deepEqual(await statesOf(...ids), ['queued', 'queued', 'queued'])
  })

  test('a call of a pipeline that others wait for is stored as waiting, with both changes and their deliveries', async () => {
    const at = await createTestTree(db)
    await setPipeline(at, { max_parallel_actions: 1 })
    const hook = await makeHook({}, at)
    const events = { events: ['action.queued', 'action.status_changed'] }
    await createHook(db, at, 'outgoing', { trigger_when: JSON.stringify(events) })
    const first = assertStarted(await call(hook))
    assert.deepEqual(await statesOf(first), ['queued'])
    const waiting = {
      status: 'waiting' as const,
      status_reason_code: 'WAITING_CONCURRENCY_PIPELINE' as const,
    }
    await createAction(db, at, { ...waiting, started_at: null, completed_at: null })
    const second = assertStarted(await call(hook))
    const { body } = await api.request('GET', `/actions/${second}`, { token: at.owner.token })
    assert.deepEqual([body.status, body.status_reason_code], ['waiting', 'WAITING_CONCURRENCY_PIPELINE'])
    const changes = await db
      .selectFrom('events')
      .leftJoin('deliveries', 'deliveries.event_id', 'events.id')
      .select(['previous_status', 'status', 'deliveries.id as delivery'])
      .where('events.action_id', '=', second)
      .orderBy('events.id')
      .execute()
    assert.deepEqual(
      changes.map(({ previous_status, status, delivery }) => [previous_status, status, delivery !== null]),
      [
        [null, 'queued', true],
        ['queued', 'waiting', true],
      ],
    )
  })

  test('a call needs a job while few wait, and none behind many: those ahead free the slots', async () => {
    const at = await createTestTree(db)
    await setPipeline(at, { max_parallel_actions: 1 })
    const hook = await makeHook({}, at)
    const hasJob = async (actionId: number) => {
      const { rows } = await sql`select from queue.job where name = 'actions.run'
        and data -> 'action_ids' @> to_jsonb(${actionId}::bigint)`.execute(db)
      return rows.length > 0
    }
    const waiting = {
      status: 'waiting' as const,
      status_reason_code: 'WAITING_CONCURRENCY_PIPELINE' as const,
      started_at: null,
      completed_at: null,
    }
    for (let ahead = 0; ahead < 8; ahead += 1) {
      assert.ok(await hasJob(assertStarted(await call(hook))), `${ahead} wait`)
      await createAction(db, at, waiting)
      await sql`delete from actions where pipeline_id = ${at.pipelineId} and hook_id is not null`.execute(db)
    }
    const last = assertStarted(await call(hook))
    assert.deepEqual([await hasJob(last), await statesOf(last)], [false, ['waiting']])
  })

  test('latest skips older waiting runs of hooks with their steps and an event, and no others', async () => {
    const at = await createTestTree(db)
    await setPipeline(at, { queue_policy: 'latest' })
    const [hook, other] = [await makeHook({}, at), await makeHook({}, at)]
    const state = { started_at: null, completed_at: null }
    const queued = { ...state, status: 'queued' as const, status_reason_code: 'QUEUED' as const }
    const running = {
      ...state,
      started_at: new Date(),
      status: 'in-progress' as const,
      status_reason_code: 'IN_PROGRESS' as const,
    }
    const waiting = {
      ...state,
      status: 'waiting' as const,
      status_reason_code: 'WAITING_CONCURRENCY_PIPELINE' as const,
    }
    const manual = await createAction(db, at, { ...queued, trigger_type: 'manual' })
    const retry = await createAction(db, at, { ...queued, trigger_type: 'retry' })
    const requestId = await createHookRequest(db, hook.id, 'incoming')
    const byHook = { trigger_type: 'hook' as const, hook_id: hook.id, hook_request_id: requestId }
    const replay = await createAction(db, at, { ...queued, ...byHook, triggered_by: at.owner.id })
    const started = await createAction(db, at, { ...running, ...byHook })
    const ended = await createAction(db, at, byHook)
    const held = await createAction(db, at, { ...waiting, ...byHook }, waiting)
    const elsewhere = await createAction(db, tree, { ...queued, ...byHook })
    const first = assertStarted(await call(hook))
    const second = assertStarted(await call(other))
    assert.deepEqual(await statesOf(manual, retry, replay, started, ended, elsewhere), [
      'queued',
      'queued',
      'queued',
      'in-progress',
      'completed',
      'queued',
    ])
    assert.deepEqual(await statesOf(held, first, second), ['skipped', 'skipped', 'queued'])
    const { body } = await api.request('GET', `/actions/${first}`, { token: at.owner.token })
    assert.equal(body.status_reason_code, 'SKIPPED')
    assert.ok(body.completed_at)
    for (const target of body.targets) {
      assert.equal(target.status, 'skipped')
      assert.deepEqual(
        target.steps.map((step: Record<string, unknown>) => [
          step.order,
          step.status,
          step.status_reason_code,
        ]),
        DEPLOY_STEPS.map((_, index) => [index + 1, 'skipped', 'SKIPPED']),
      )
    }
    const events = await db
      .selectFrom('events')
      .selectAll()
      .where('action_id', 'in', [held, first])
      .orderBy('action_id')
      .orderBy('id')
      .execute()
    assert.deepEqual(
      events.map(({ action_id, previous_status, status }) => [action_id, previous_status, status]),
      [
        [held, 'waiting', 'skipped'],
        [first, null, 'queued'],
        [first, 'queued', 'skipped'],
      ],
    )
  })

  test('latest keeps one of many concurrent runs through two processes, and a duplicate of an old one changes nothing', async (t) => {
    const second = await openTestApp(t, { beside: api })
    const at = await createTestTree(db)
    await setPipeline(at, { queue_policy: 'latest' })
    const hook = await makeHook({}, at)
    const send = (n: number) =>
      call(hook, { n }, { headers: { 'idempotency-key': String(n) }, by: n % 2 ? second : api })
    const ids = (await Promise.all(Array.from({ length: 40 }, (_, n) => send(n)))).map(assertStarted)
    const left = async () =>
      (await actionsOf(hook)).filter(({ status }) => status === 'queued').map(({ id }) => id)
    assert.deepEqual(await left(), [Math.max(...ids)])
    assert.equal((await send(0)).status, 200)
    assert.deepEqual(await left(), [Math.max(...ids)])
    const { events } = await db
      .selectFrom('events')
      .innerJoin('actions', 'actions.id', 'events.action_id')
      .select(({ fn }) => fn.countAll<number>().as('events'))
      .where('actions.hook_id', '=', hook.id)
      .executeTakeFirstOrThrow()
    assert.equal(events, 40 + 39)
  })

  test('reject returns 409 while the pipeline is busy, and records it', async () => {
    const at = await createTestTree(db)
    await setPipeline(at, { queue_policy: 'reject' })
    const hook = await makeHook({}, at)
    const id = assertStarted(await call(hook))
    const refused = await call(hook)
    assertRejected(refused, 409, 'conflict')
    assert.match(refused.body.message, /busy/)
    const record = (await requestsOf(hook)).at(-1)!
    assert.deepEqual(
      [record.outcome, record.response_status_code, record.action_id],
      ['rejected_state', 409, null],
    )
    await db
      .updateTable('actions')
      .set({ status: 'failed', status_reason_code: 'FAILED', completed_at: new Date() })
      .where('id', '=', id)
      .execute()
    assertStarted(await call(hook))
    await setPipeline(at, { max_parallel_actions: 0 })
    assertStarted(await call(hook))
  })

  test('reject never starts more runs than there are slots, even with concurrent calls through two processes', async (t) => {
    const other = await openTestApp(t, { beside: api })
    const at = await createTestTree(db)
    await setPipeline(at, { queue_policy: 'reject', max_parallel_actions: 3 })
    const hook = await makeHook({}, at)
    const answers = await Promise.all(
      Array.from({ length: 30 }, (_, n) => call(hook, { n }, { by: n % 2 ? other : api })),
    )
    assert.deepEqual(answers.map(({ status }) => status).toSorted(), [
      ...Array<number>(3).fill(202),
      ...Array<number>(27).fill(409),
    ])
    assert.equal((await actionsOf(hook)).length, 3)
    assert.equal((await requestsOf(hook)).length, 30)
  })

  test('a duplicate stays a duplicate where further runs are rejected, and takes no slot', async (t) => {
    const other = await openTestApp(t, { beside: api })
    const at = await createTestTree(db)
    await setPipeline(at, { queue_policy: 'reject', max_parallel_actions: 2 })
    const hook = await makeHook({}, at)
    const send = (id: string, by = api) => call(hook, { id }, { by, headers: { 'idempotency-key': id } })
    const copies = await Promise.all(Array.from({ length: 20 }, (_, n) => send('1', n % 2 ? other : api)))
    const ids = new Set(copies.map(({ body }) => body.action_id))
    assert.equal(ids.size, 1)
    assert.equal(copies.filter(({ status }) => status === 202).length, 1)
    const mixed = await Promise.all([send('1'), send('1'), send('2'), send('1')])
    assert.deepEqual(
      mixed.map(({ status }) => status),
      [200, 200, 202, 200],
    )
    assert.equal((await send('1')).body.action_id, [...ids][0])
    assertRejected(await send('3'), 409, 'conflict')
    assert.equal((await actionsOf(hook)).length, 2)
  })
})
