// POST /pipelines/{id}/plan: previews a run.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { DEPLOY_STEPS } from '#model/pipelines/built-in-steps.ts'
import { openTestApp, type RequestOptions } from '#test/support/harness.ts'
import { insertWorker } from '#test/support/workers.ts'
import { createAction, createMember, createTestTree, type TestTree } from '#test/support/world.ts'

const api = await openTestApp({ after })
const { db } = api
const tree = await createTestTree(db)
const viewer = await createMember(db, tree, 'viewer')

const ask = (url: string, body?: unknown, { at = tree, ...more }: RequestOptions & { at?: TestTree } = {}) =>
  api.request('POST', url, { token: at.owner.token, body, ...more })
const plan = (body?: unknown, by: Parameters<typeof ask>[2] = {}) =>
  ask(`/pipelines/${(by.at ?? tree).pipelineId}/plan`, body, by)

const queued = {
  status: 'queued',
  status_reason_code: 'QUEUED',
  started_at: null,
  completed_at: null,
} as const

async function countRuns(): Promise<number> {
  const { count } = await db
    .selectFrom('actions')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return count
}

test('a plan shows every target with every step, the source and the variables; it starts nothing', async () => {
  const before = await countRuns()
  const input = { source_type: 'tag', source_ref: 'refs/tags/v1', variables: { region: 'eu' } }
  const { status, body, text } = await plan(input, { token: viewer.token })
  assert.equal(status, 200, text)
  assert.deepEqual(
    body.targets.map((target: { resource_id: number; batch: number; resource_data: { name: string } }) => [
      target.resource_id,
      target.batch,
      target.resource_data.name,
    ]),
    [
      [tree.serverIds[0], 1, 'web-1'],
      [tree.serverIds[1], 1, 'web-2'],
    ],
  )
  for (const { steps } of body.targets)
    assert.deepEqual(
      steps.map(({ order, name, built_in }: Record<string, unknown>) => [order, name, built_in]),
      DEPLOY_STEPS.map(({ name }, index) => [index + 1, name, true]),
    )
  assert.deepEqual(body.source, {
    type: 'deploy',
    source_type: 'tag',
    source_ref: 'v1',
    repository: 'https://github.com/acme/shop.git',
    commit_hash: null,
    release_name: null,
  })
  assert.equal(body.would_wait, null)
  assert.deepEqual(body.variables, { region: 'eu' })
  assert.equal(await countRuns(), before)
})

test('a plan respects batches and selected servers', async () => {
  const at = await createTestTree(db)
  await db
    .updateTable('pipelines')
    .set({ rollout: JSON.stringify({ batch: 1, max_failed: 0 }) })
    .where('id', '=', at.pipelineId)
    .execute()
  const batches = (await plan(undefined, { at })).body.targets.map(({ batch }: { batch: number }) => batch)
  assert.deepEqual(batches, [1, 2])
  const one = await plan({ servers: [at.serverIds[1]] }, { at })
  assert.deepEqual(
    one.body.targets.map((target: { resource_id: number }) => target.resource_id),
    [at.serverIds[1]],
  )
})

test('a plan is rejected for the same reasons as a run', async () => {
  const at = await createTestTree(db)
  const inputs = [
    { servers: [999_999] },
    { source_type: 'tag' },
    { source_ref: 'a..b' },
    { variables: { '1x': 1 } },
    { type: 'rollback' },
    { release_name: '20260101000001-11111111' },
    { nonsense: true },
  ]
  for (const input of inputs) {
    const planned = await plan(input, { at })
    const run = await ask(`/pipelines/${at.pipelineId}/actions`, input, { at })
    const reasons = [planned, run].map(({ status, body }) => ({ status, ...body, request_id: null }))
    assert.ok(planned.status >= 400, JSON.stringify(input))
    assert.deepEqual(reasons[0], reasons[1])
  }
  assert.equal((await ask(`/pipelines/${at.serverPipelineId}/plan`, {}, { at })).status, 409, 'no step')
  await db
    .updateTable('environments')
    .set({ archived_at: new Date() })
    .where('id', '=', at.environmentId)
    .execute()
  assert.equal((await plan({}, { at })).status, 409)
  assert.equal((await plan({}, { token: at.owner.token })).status, 404)
})

test('a plan says what the run would wait for', async () => {
  const at = await createTestTree(db)
  const waitingFor = async () => (await plan({}, { at })).body.would_wait
  const setPipeline = (columns: object) =>
    db.updateTable('pipelines').set(columns).where('id', '=', at.pipelineId).execute()
  assert.equal(await waitingFor(), null)
  await createAction(db, at, queued, queued)
  assert.equal(await waitingFor(), 'WAITING_CONCURRENCY_PIPELINE')
  await setPipeline({ max_parallel_actions: 0 })
  assert.equal(await waitingFor(), 'WAITING_CONCURRENCY_TARGET')
  // A target that is held until the others are done takes no slot.
  const setTargets = (columns: object) =>
    db.updateTable('targets').set(columns).where('server_id', 'in', at.serverIds).execute()
  const started_at = new Date().toISOString()
  await setTargets({ status: 'in-progress', status_reason_code: 'PENDING', started_at })
  assert.equal(await waitingFor(), null)
  await setTargets(queued)
  await db
    .updateTable('servers')
    .set({ max_parallel_actions: 2 })
    .where('environment_id', '=', at.environmentId)
    .execute()
  assert.equal(await waitingFor(), null)
  const setServers = (columns: object) =>
    db.updateTable('servers').set(columns).where('environment_id', '=', at.environmentId).execute()
  const local = { provider_code: 'local', host: null, port: null, login_name: null, credential_id: null }
  await setServers({ ...local, worker_name: 'm1' })
  assert.equal(await waitingFor(), 'WAITING_WORKER')
  const worker = await insertWorker(db, 'm1')
  assert.equal(await waitingFor(), null)
  await db
    .updateTable('workers')
    .set({ draining_since: new Date().toISOString() })
    .where('id', '=', worker)
    .execute()
  assert.equal(await waitingFor(), 'WAITING_WORKER')
  await db.deleteFrom('workers').execute()
  await setPipeline({ max_parallel_actions: 1, queue_policy: 'reject' })
  assert.equal((await plan({}, { at })).status, 409)
})
