// Pipelines: made, changed, put behind each other, removed.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { DEPLOY_STEPS } from '#model/pipelines/built-in-steps.ts'
import { openTestApp, type RequestOptions } from '#test/support/harness.ts'
import {
  addEnvironment,
  createAction,
  createHook,
  createMember,
  createPerson,
  createTestTree,
  grantRole,
  type TestTree,
} from '#test/support/world.ts'

const api = await openTestApp({ after })
const { db } = api
const tree = await createTestTree(db)
const developer = await createMember(db, tree, 'developer')
const administrator = await createPerson(db, { admin: true })
await grantRole(db, administrator.id, 'owner', { organizationId: tree.organizationId })

const send = (method: string, url: string, body?: unknown, more: RequestOptions = {}) =>
  api.request(method, url, { token: tree.owner.token, body, ...more })
const ofApplication = (at: Pick<TestTree, 'applicationId'> = tree) =>
  `/pipelines/application/${at.applicationId}`
const ofServer = (at: Pick<TestTree, 'serverIds'> = tree) => `/pipelines/server/${at.serverIds[0]}`

async function created(body: object, url = ofApplication(), by: RequestOptions = {}) {
  const answer = await send('POST', url, body, by)
  assert.equal(answer.status, 201, answer.text)
  return answer.body
}
const change = (id: number, body: object, by: RequestOptions = {}) =>
  send('PUT', `/pipelines/${id}`, body, by)
const unfinished = {
  status: 'queued',
  status_reason_code: 'QUEUED',
  started_at: null,
  completed_at: null,
} as const

suite('a pipeline', () => {
  test('that deploys has the built-in steps from the start', async () => {
    const body = await created({ name: 'Ship', operation: 'deploy' })
    assert.deepEqual(
      body.steps.map(({ order, name, description, built_in, command }: Record<string, unknown>) => ({
        order,
        name,
        description,
        built_in,
        command,
      })),
      DEPLOY_STEPS.map((step, index) => ({ order: index + 1, ...step, built_in: true, command: null })),
    )
    assert.equal(body.resource_type, 'application')
    assert.equal(body.resource_id, tree.applicationId)
    assert.equal(body.environment_id, tree.environmentId)
    assert.equal(body.project_id, tree.projectId)
    assert.equal(body.operation_human_readable, 'Deploy')
    assert.equal(body.created_by_user.id, tree.owner.id)
    assert.deepEqual(
      [body.max_parallel_actions, body.queue_policy, body.rollout, body.run_after, body.on_failure],
      [1, 'queue', null, [], 'revert'],
    )
  })

  test('is created, read, listed and changed', async () => {
    const input = {
      name: 'Warm the caches',
      operation: 'custom',
      max_parallel_actions: 0,
      queue_policy: 'latest',
      rollout: { batch: '25%', max_failed: 2, on_failure: 'revert_all' },
      on_failure: 'revert',
    }
    const made = await send('POST', ofServer(), input, { token: developer.token })
    assert.equal(made.status, 201, made.text)
    for (const [field, value] of Object.entries(input)) assert.deepEqual(made.body[field], value, field)
    assert.deepEqual(made.body.steps, [])
    const address = `/pipelines/${made.body.id}`
    const read = await send('GET', address)
    assert.deepEqual(read.body, made.body)
    assert.equal(read.headers.etag, made.headers.etag)

    const changed = await change(made.body.id, { name: 'Warm up', rollout: { batch: 3 } })
    assert.equal(changed.status, 200, changed.text)
    const rollout = { batch: 3, max_failed: 0, on_failure: 'stop' }
    assert.deepEqual(
      { ...changed.body, updated_at: null },
      { ...made.body, name: 'Warm up', rollout, updated_at: null },
    )
    assert.equal((await change(made.body.id, { rollout: null })).body.rollout, null)
    const list = await send('GET', `${ofServer()}?filter[name]=WARM`)
    assert.deepEqual(
      list.body.map((one: { id: number }) => one.id),
      [made.body.id],
    )
    const first = await send('GET', `${ofServer()}?per_page=1`)
    assert.equal(first.body[0].id, made.body.id, 'newest first')
    assert.equal(first.headers['x-total-count'], '2')
  })

  test('goes back on all servers only where it goes back on one', async () => {
    const all = { batch: 1, on_failure: 'revert_all' }
    const input = { name: 'Deploy all', operation: 'deploy', rollout: all }
    const refused = await send('POST', ofApplication(), { ...input, on_failure: 'keep' })
    assert.equal(refused.status, 422)
    assert.deepEqual(Object.keys(refused.body.errors), ['rollout.on_failure'])
    const { id } = await created(input)
    assert.equal((await change(id, { on_failure: 'keep' })).status, 422)
    const kept = await change(id, { on_failure: 'keep', rollout: { batch: 1 } })
    assert.deepEqual([kept.status, kept.body.on_failure], [200, 'keep'])
    assert.equal((await change(id, { rollout: all })).status, 422)
    assert.equal((await change(id, { on_failure: 'undo' })).status, 422)
  })

  test('accepts one of two changes based on the same version, steps included', async () => {
    const { id } = await created({ name: 'Twice', operation: 'custom' })
    const { headers } = await send('GET', `/pipelines/${id}`)
    const write = (name: string, etag: string) => change(id, { name }, { headers: { 'if-match': etag } })
    const first = await write('First', headers.etag!)
    assert.equal(first.status, 200)
    assert.equal((await write('Second', headers.etag!)).status, 412)
    await send('POST', `/pipelines/${id}/steps`, { name: 'hello', command: 'true' })
    assert.equal((await write('Third', first.headers.etag!)).status, 412)
  })

  test('is rejected with all errors at once', async () => {
    const { status, body } = await send('POST', ofApplication(), {
      name: ' ',
      operation: 'explode',
      max_parallel_actions: -1,
      queue_policy: 'lifo',
      rollout: { batch: '0%', max_failed: -1, extra: 1 },
      run_after: [0],
      step: [],
    })
    assert.equal(status, 422)
    assert.deepEqual(Object.keys(body.errors).sort(), [
      'max_parallel_actions',
      'name',
      'operation',
      'queue_policy',
      'rollout.batch',
      'rollout.extra',
      'rollout.max_failed',
      'run_after.0',
      'step',
    ])
    for (const batch of [0, 1.5, '101%', '1.5%', '10', 'all', null])
      assert.equal(
        (await send('POST', ofApplication(), { name: 'x', operation: 'custom', rollout: { batch } })).status,
        422,
        String(batch),
      )
  })

  test('deploys applications only', async () => {
    const { status, body } = await send('POST', ofServer(), { name: 'No', operation: 'deploy' })
    assert.equal(status, 422)
    assert.deepEqual(Object.keys(body.errors), ['operation'])
  })

  test('may change its operation until it has runs or hooks', async () => {
    const { id } = await created({ name: 'Undecided', operation: 'custom' })
    await send('POST', `/pipelines/${id}/steps`, { name: 'own', command: 'true' })
    const deploying = await change(id, { operation: 'deploy' })
    assert.deepEqual(
      deploying.body.steps.map(({ name }: { name: string }) => name),
      [...DEPLOY_STEPS.map(({ name }) => name), 'own'],
    )
    const restarting = await change(id, { operation: 'restart' })
    assert.deepEqual(
      restarting.body.steps.map(({ name }: { name: string }) => name),
      ['own'],
    )
    const other = await createTestTree(db)
    const by = { token: other.owner.token }
    await createHook(db, other, 'incoming')
    assert.equal((await change(other.pipelineId, { operation: 'deploy' }, by)).status, 200, 'the same one')
    assert.equal((await change(other.pipelineId, { operation: 'custom' }, by)).status, 409)
    await createAction(
      db,
      { ...other, pipelineId: other.serverPipelineId, serverIds: [] },
      { type: 'restart', status: 'skipped', status_reason_code: 'SKIPPED', started_at: null },
    )
    assert.equal((await change(other.serverPipelineId, { operation: 'stop' }, by)).status, 409)
  })

  test('of a local server is created by instance administrators', async () => {
    const { id: serverId } = await db
      .insertInto('servers')
      .values({
        environment_id: tree.environmentId,
        name: 'This machine',
        provider_code: 'local',
        root_directory: '/srv',
        created_by: tree.owner.id,
      })
      .returning('id')
      .executeTakeFirstOrThrow()
    const url = `/pipelines/server/${serverId}`
    const input = { name: 'Clean up', operation: 'custom' }
    assert.equal((await send('POST', url, input)).status, 403)
    const { id } = await created(input, url, { token: administrator.token })
    assert.equal((await change(id, { name: 'Tidy up' })).status, 200)
    assert.equal((await change(id, { operation: 'restart' })).status, 403)
  })

  test('does not exist for members of another organization', async () => {
    const other = await createTestTree(db)
    const by = { token: other.owner.token }
    for (const url of [`/pipelines/${tree.pipelineId}`, ofApplication(), ofServer()])
      assert.equal((await send('GET', url, undefined, by)).status, 404)
    assert.equal((await send('POST', ofApplication(), { name: 'x', operation: 'custom' }, by)).status, 404)
  })
})

suite('run_after', () => {
  test('references pipelines of the same environment', async () => {
    const neighbor = await addEnvironment(db, tree.owner.id, tree.projectId, tree.credentialId)
    const input = { name: 'After', operation: 'custom' }
    const { body } = await send('POST', ofServer(), { ...input, run_after: [tree.pipelineId] })
    assert.deepEqual(body.run_after, [tree.pipelineId])
    for (const foreign of [neighbor.pipelineId, 999_999]) {
      const rejected = await send('POST', ofServer(), { ...input, run_after: [tree.pipelineId, foreign] })
      assert.equal(rejected.status, 404)
      assert.deepEqual(Object.keys(rejected.body.errors), ['run_after.1'])
    }
  })

  test('never forms a cycle, and names the one that it would form', async () => {
    const other = await createTestTree(db)
    const by = { token: other.owner.token }
    const make = (name: string, run_after: number[]) =>
      created({ name, operation: 'custom', run_after }, ofApplication(other), by)
    const one = await make('One', [])
    const two = await make('Two', [one.id])
    const three = await make('Three', [two.id, one.id])
    const circle = await change(one.id, { run_after: [three.id] }, by)
    assert.equal(circle.status, 422)
    assert.match(circle.body.errors.run_after[0], /One → Three → (Two → )?One/)
    const itself = await change(one.id, { run_after: [one.id] }, by)
    assert.equal(itself.status, 422)
    assert.match(itself.body.errors.run_after[0], /One → One/)
    assert.equal((await change(three.id, { run_after: [] }, by)).status, 200)
    assert.equal((await change(one.id, { run_after: [three.id] }, by)).status, 200)
  })

  test('does not form a cycle through concurrent changes', async () => {
    const other = await createTestTree(db)
    const by = { token: other.owner.token }
    for (let round = 0; round < 5; round++) {
      const answers = await Promise.all([
        change(other.pipelineId, { run_after: [other.serverPipelineId] }, by),
        change(other.serverPipelineId, { run_after: [other.pipelineId] }, by),
      ])
      assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 422])
      for (const id of [other.pipelineId, other.serverPipelineId]) await change(id, { run_after: [] }, by)
    }
  })
})

suite('removing a pipeline', () => {
  test('is rejected while something depends on it; dependents are named', async () => {
    const other = await createTestTree(db)
    const by = { token: other.owner.token }
    await createHook(db, other, 'incoming', { name: 'Push' })
    await change(other.serverPipelineId, { run_after: [other.pipelineId] }, by)
    const { status, body } = await send('DELETE', `/pipelines/${other.pipelineId}`, undefined, by)
    assert.equal(status, 409)
    assert.deepEqual(body.errors, { hooks: ['1 hook: Push'], run_after: ['1 pipeline: Restart after it'] })
  })

  test('with cascade removes the hooks, whose calls then get 404', async () => {
    const other = await createTestTree(db)
    const by = { token: other.owner.token }
    const hook = await send('POST', `/pipelines/${other.pipelineId}/hooks/incoming`, { name: 'Push' }, by)
    const call = () => api.request('POST', new URL(hook.body.url).pathname, { body: {} })
    const started = await call()
    assert.equal(started.status, 202)
    await db
      .updateTable('actions')
      .set({ status: 'skipped', status_reason_code: 'SKIPPED', completed_at: new Date() })
      .where('id', '=', started.body.action_id)
      .execute()
    const address = `/pipelines/${other.pipelineId}?cascade=true`
    assert.equal((await send('DELETE', address, undefined, by)).status, 204)
    assert.equal((await call()).status, 404)
    assert.equal((await send('GET', `/pipelines/${other.pipelineId}`, undefined, by)).status, 404)
    assert.equal((await send('POST', `/pipelines/${other.pipelineId}/actions`, undefined, by)).status, 404)
    const list = await send('GET', ofApplication(other), undefined, by)
    assert.deepEqual(list.body, [])
    const action = await send('GET', `/actions/${started.body.action_id}`, undefined, by)
    assert.equal(action.body.pipeline_id, other.pipelineId)
    const entries = await db
      .selectFrom('audit_entries')
      .select(['verb', 'subject_type'])
      .where('organization_id', '=', other.organizationId)
      .where('verb', '=', 'removed')
      .orderBy('id')
      .execute()
    assert.deepEqual(
      entries.map((entry) => entry.subject_type),
      ['hook', 'pipeline'],
    )
  })

  test('waits for unfinished runs to end', async () => {
    const other = await createTestTree(db)
    await createAction(db, other, unfinished)
    for (const query of ['', '?cascade=true']) {
      const { status, body } = await send('DELETE', `/pipelines/${other.pipelineId}${query}`, undefined, {
        token: other.owner.token,
      })
      assert.equal(status, 409)
      assert.deepEqual(body.errors, { actions: ['1 run is not finished'] })
    }
  })

  test('leaves no unfinished run behind when one starts concurrently', async () => {
    for (let round = 0; round < 5; round++) {
      const other = await createTestTree(db)
      const by = { token: other.owner.token }
      const address = `/pipelines/${other.pipelineId}`
      const [removed, started] = await Promise.all([
        send('DELETE', address, undefined, by),
        send('POST', `${address}/actions`, undefined, by),
      ])
      const both = `${removed.status} ${started.status}`
      assert.ok(['204 404', '204 409', '409 201'].includes(both), both)
    }
  })

  test('requires permission', async () => {
    const { id } = await created({ name: 'Keep me', operation: 'custom' })
    const by = { token: developer.token }
    assert.equal((await send('DELETE', `/pipelines/${id}`, undefined, by)).status, 403)
    assert.equal((await send('DELETE', `/pipelines/${id}`)).status, 204)
  })
})
