// POST /actions/{id}/retry and /actions/{id}/cancel.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import { DEPLOY_STEPS } from '#model/pipelines/built-in-steps.ts'
import { assertStarted, withVariables } from '#test/support/calls.ts'
import { commitOf, FAILED, faultsOf, openRuns, reasonOf, started } from '#test/support/runs.ts'
import { createAction, createMember, createTestTree } from '#test/support/world.ts'

const runs = await openRuns({ after })
const { db, tree, makeHook, call, jobsFor, ask, run, retry, cancel } = runs
const { readAction, rowOf, targetsOf, eventsOf, countActions, addStep, deployed } = runs

const RUNNING = {
  status: 'in-progress',
  status_reason_code: 'IN_PROGRESS',
  started_at: '2026-01-01T00:00:00Z',
  completed_at: null,
} as const
const QUEUED = {
  status: 'queued',
  status_reason_code: 'QUEUED',
  started_at: null,
  completed_at: null,
} as const

suite('a retry', () => {
  test('repeats an ended action for the requester: servers, variables, hook and commit', async () => {
    const at = await createTestTree(db)
    const hook = await makeHook(withVariables({ name: 'branch' }), at)
    const first = assertStarted(await call(hook, { branch: 'next' }))
    const commit = JSON.stringify(commitOf('3'))
    await db.updateTable('actions').set({ commit, release_name: 'made' }).where('id', '=', first).execute()
    await db
      .deleteFrom('targets')
      .where('action_id', '=', first)
      .where('server_id', '=', at.serverIds[0]!)
      .execute()
    assert.equal(
      await reasonOf(retry(first, { at })),
      'The action has not ended yet. Cancel it first, or wait.',
    )
    await cancel(first, { at })
    await addStep(at.pipelineId, 'smoke-test', 7)
    const developer = await createMember(db, at, 'developer')
    const action = await started(retry(first, { at, token: developer.token, address: '203.0.113.9' }))
    const { triggered_from: before } = await readAction(first, at)
    assert.equal(action.retry_of, first)
    assert.equal(action.parent, null)
    assert.deepEqual(action.triggered_from, {
      ...before,
      trigger_type: 'retry',
      origin: action.triggered_from.origin,
      name: developer.email.split('@')[0],
      email: developer.email,
      user_id: developer.id,
      ip_address: '203.0.113.9',
    })
    assert.deepEqual(action.triggered_from.hook_parsed_variables, { branch: 'next' })
    assert.equal(action.hook_requests.incoming.id, before.hook_request_id)
    const { release_name, deployment } = action.action_data
    assert.equal(release_name, null)
    assert.deepEqual(action.action_data.commit, commitOf('3'))
    assert.deepEqual(
      [deployment.type, deployment.source_type, deployment.source_ref],
      ['deploy', 'commit', commitOf('3').hash],
    )
    const [target, ...others] = await targetsOf(action.id)
    assert.equal(target!.server_id, at.serverIds[1])
    assert.deepEqual(others, [])
    assert.deepEqual(
      target!.steps.map(({ name, status }) => [name, status]),
      [...DEPLOY_STEPS.map(({ name }) => [name, 'pending']), ['smoke-test', 'pending']],
    )
    assert.deepEqual(await eventsOf(action.id), [{ previous_status: null, status: 'queued' }])
    assert.equal(await jobsFor(action.id), 1)
  })

  test('uses the same source when no commit was resolved', async () => {
    const first = await started(run({ source_type: 'tag', source_ref: 'v9', variables: { a: 1 } }))
    await cancel(first.id)
    const again = await started(retry(first.id))
    const { source_type, source_ref } = again.action_data.deployment
    assert.deepEqual([source_type, source_ref, again.action_data.commit], ['tag', 'v9', null])
    assert.deepEqual((await rowOf(again.id)).variables, { a: 1 })
    assert.equal(again.trigger_comment, null)
  })

  test('of a rollback rolls back to the same release', async () => {
    const at = await createTestTree(db)
    await deployed(at, '1')
    await deployed(at, '2')
    const rollback = await started(run({ type: 'rollback' }, { at }))
    await cancel(rollback.id, { at })
    await deployed(at, '4')
    const again = await started(retry(rollback.id, { at }))
    assert.deepEqual(again.action_data, rollback.action_data)
    await cancel(again.id, { at })
    const release_name = '20260101000001-11111111'
    const named = await started(run({ type: 'rollback', release_name }, { at }))
    await cancel(named.id, { at })
    const third = await started(retry(named.id, { at }))
    assert.deepEqual([third.action_data, third.action_data.release_name], [named.action_data, release_name])
  })

  test('leaves out servers that the pipeline no longer has, and is 409 when none is left', async () => {
    const at = await createTestTree(db)
    const first = await createAction(db, at, FAILED)
    const unlink = (id: number) => db.deleteFrom('application_servers').where('server_id', '=', id).execute()
    await unlink(at.serverIds[0]!)
    const again = await started(retry(first, { at }))
    assert.deepEqual(
      (await targetsOf(again.id)).map(({ server_id }) => server_id),
      [at.serverIds[1]],
    )
    await unlink(at.serverIds[1]!)
    assert.match(await reasonOf(retry(first, { at })), /no longer has any of the servers/)
    assert.equal(await countActions(at), 2)
  })

  test('can be requested twice at the same time: both start', async () => {
    const first = await createAction(db, tree, FAILED)
    const [one, other] = await Promise.all([started(retry(first)), started(retry(first))])
    assert.notEqual(one.id, other.id)
    assert.deepEqual([one.retry_of, other.retry_of], [first, first])
  })

  test('takes no fields', async () => {
    const first = await createAction(db, tree, FAILED)
    for (const verb of ['retry', 'cancel'])
      assert.deepEqual(Object.keys(await faultsOf(ask(`/actions/${first}/${verb}`, { servers: [1] }))), [
        'servers',
      ])
  })
})

suite('cancelling', () => {
  test('ends immediately what has not started, with its event; it is idempotent', async () => {
    const developer = await createMember(db, tree, 'developer')
    const { id } = await started(run())
    const { status, body } = await cancel(id, { token: developer.token })
    assert.equal(status, 202)
    assert.deepEqual(body, await readAction(id))
    assert.deepEqual([body.status, body.status_reason_code], ['failed', 'FAILED_CANCELLED'])
    for (const target of body.targets) assert.equal(target.status_reason_code, 'FAILED_CANCELLED')
    const again = await cancel(id)
    assert.equal(again.status, 202)
    assert.deepEqual(again.body, body)
    assert.equal((await rowOf(id)).cancelled_by, developer.id)
    assert.deepEqual(
      (await eventsOf(id)).map(({ status }) => status),
      ['queued', 'failed'],
    )
  })

  test('leaves an action whose target had failed before with the reason of that target', async () => {
    const id = await createAction(db, tree, { ...RUNNING, has_place: true }, QUEUED)
    const [first] = await targetsOf(id)
    await db
      .updateTable('targets')
      .set({
        status: 'failed',
        status_reason_code: 'FAILED_UNREACHABLE',
        completed_at: new Date().toISOString(),
      })
      .where('id', '=', first!.id)
      .execute()
    const { body } = await cancel(id)
    assert.deepEqual([body.status, body.status_reason_code], ['failed', 'FAILED_UNREACHABLE'])
    assert.deepEqual(
      body.targets.map((target: { status_reason_code: string }) => target.status_reason_code),
      ['FAILED_UNREACHABLE', 'FAILED_CANCELLED'],
    )
    assert.equal((await cancel(id)).status, 202)
  })

  test('leaves to the worker what has started', async () => {
    const id = await createAction(db, tree, { ...RUNNING, has_place: true }, RUNNING)
    const { status, body } = await cancel(id)
    assert.equal(status, 202)
    assert.equal(body.status, 'in-progress')
    assert.equal((await cancel(id)).status, 202)
    assert.ok((await rowOf(id)).cancelled_at)
  })

  test('is 409 for what has ended by itself, even when the request came in time', async () => {
    const ended = [
      await createAction(db, tree),
      await createAction(db, tree, FAILED),
      await createAction(db, tree, { cancelled_at: new Date(), cancelled_by: tree.owner.id }),
    ]
    for (const id of ended) assert.equal(await reasonOf(cancel(id)), 'The action has already ended.')
  })

  test('frees the slot for the next run', async () => {
    const at = await createTestTree(db)
    const idle = { ...QUEUED, status: 'pending', status_reason_code: 'PENDING' } as const
    const first = await createAction(db, at, { ...QUEUED, has_place: true }, QUEUED)
    const next = await createAction(db, at, QUEUED, idle)
    await cancel(first, { at })
    const row = await rowOf(next)
    assert.ok(row.has_place)
    const targets = await targetsOf(next)
    assert.deepEqual(
      targets.map(({ status }) => status),
      ['queued', 'queued'],
    )
    const { rows } = await sql<{ jobs: number }>`
      select count(*) as jobs from queue.job where name = 'targets.run'
        and (data ->> 'target_id')::bigint = any(${targets.map(({ id }) => id)}::bigint[])`.execute(db)
    assert.equal(Number(rows[0]!.jobs), 2)
  })
})
