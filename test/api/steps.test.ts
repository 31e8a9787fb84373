// The steps of pipelines.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { loadRun } from '#engine/runner/load-run.ts'
import { DEPLOY_STEPS } from '#model/pipelines/built-in-steps.ts'
import { openTestApp, type RequestOptions } from '#test/support/harness.ts'
import { createMember, createPerson, createTestTree, grantRole } from '#test/support/world.ts'

const api = await openTestApp({ after })
const { db } = api
const tree = await createTestTree(db)
const developer = await createMember(db, tree, 'developer')
const viewer = await createMember(db, tree, 'viewer')

type Step = { id: number; name: string; order: number; built_in: boolean }

const send = (method: string, url: string, body?: unknown, more: RequestOptions = {}) =>
  api.request(method, url, { token: developer.token, body, ...more })

async function newPipeline(operation = 'custom'): Promise<string> {
  const { body, text } = await send('POST', `/pipelines/application/${tree.applicationId}`, {
    name: 'Work',
    operation,
  })
  assert.ok(body.id, text)
  return `/pipelines/${body.id}/steps`
}

async function added(steps: string, name: string, more: object = {}): Promise<Step> {
  const { status, body, text } = await send('POST', steps, { name, command: `echo ${name}`, ...more })
  assert.equal(status, 201, text)
  return body
}

async function namesOf(steps: string): Promise<string[]> {
  const { body } = await send('GET', `${steps}?per_page=100`)
  assert.deepEqual(
    body.map(({ order }: Step) => order),
    body.map((_: Step, index: number) => index + 1),
  )
  return body.map(({ name }: Step) => name)
}

suite('a step', () => {
  test('is added, read and listed', async () => {
    const steps = await newPipeline()
    const input = {
      name: 'migrate',
      description: 'Change the tables',
      command: 'bin/migrate --yes',
      run_as_user: 'app',
      timeout_seconds: 30,
      idempotent: true,
      irreversible: true,
      run_on_revert: false,
    }
    const made = await send('POST', steps, input)
    assert.equal(made.status, 201, made.text)
    const { id, created_at, updated_at, ...shown } = made.body
    assert.deepEqual(shown, { ...input, order: 1, built_in: false })
    const read = await send('GET', `${steps}/${id}`, undefined, { token: viewer.token })
    assert.deepEqual(read.body, made.body)
    assert.equal(read.headers.etag, made.headers.etag)
    assert.deepEqual((await send('GET', `${steps}?filter[name]=MIG`)).body, [made.body])
    assert.deepEqual((await send('GET', `${steps}?filter[name]=x`)).body, [])
  })

  test('is last unless trigger_after says otherwise: by name, by id, or first', async () => {
    const steps = await newPipeline()
    await added(steps, 'a')
    const b = await added(steps, 'b')
    await added(steps, 'after-a', { trigger_after: 'a' })
    await added(steps, 'after-b', { trigger_after: b.id })
    await added(steps, 'first', { trigger_after: null })
    assert.deepEqual(await namesOf(steps), ['first', 'a', 'after-a', 'b', 'after-b'])
    await send('PUT', `${steps}/${b.id}`, { trigger_after: null })
    assert.deepEqual(await namesOf(steps), ['b', 'first', 'a', 'after-a', 'after-b'])
    await send('DELETE', `${steps}/${b.id}`)
    await added(steps, 'last')
    assert.deepEqual(await namesOf(steps), ['first', 'a', 'after-a', 'after-b', 'last'])
  })

  test('keeps its id, its position and omitted fields when it is changed', async () => {
    const steps = await newPipeline()
    await added(steps, 'before')
    const one = await added(steps, 'one', { timeout_seconds: 5 })
    await added(steps, 'behind')
    const address = `${steps}/${one.id}`
    const changed = await send('PUT', address, { name: 'two', description: 'Second' })
    assert.equal(changed.status, 200, changed.text)
    assert.deepEqual(
      { ...changed.body, updated_at: null },
      { ...one, name: 'two', description: 'Second', updated_at: null },
    )
    const again = await send('PUT', address, { command: 'echo 3' })
    assert.equal(again.body.id, one.id)
    assert.deepEqual((await send('GET', address)).body, again.body)
    assert.deepEqual(await namesOf(steps), ['before', 'two', 'behind'])
  })

  test('that is changed or removed stays the same for runs that started before', async () => {
    const other = await createTestTree(db)
    const by = { token: other.owner.token }
    await db.updateTable('applications').set({ credential_id: null }).execute()
    const steps = `/pipelines/${other.serverPipelineId}/steps`
    const changing = await send('POST', steps, { name: 'changing', command: 'echo before' }, by)
    const leaving = await send('POST', steps, { name: 'leaving', command: 'echo here' }, by)
    const started = await send('POST', `/pipelines/${other.serverPipelineId}/actions`, undefined, by)
    assert.equal(started.status, 201, started.text)
    await send('PUT', `${steps}/${changing.body.id}`, { command: 'echo after', trigger_after: 'leaving' }, by)
    await send('DELETE', `${steps}/${leaving.body.id}`, undefined, by)
    const commandsOf = async (targetId: number) => {
      const run = await loadRun(db, api.box, targetId)
      return 'steps' in run && run.steps.map(({ command }) => command)
    }
    assert.deepEqual(await commandsOf(started.body.targets[0].id), ['echo before', 'echo here'])
    const later = await send('POST', `/pipelines/${other.serverPipelineId}/actions`, undefined, by)
    assert.deepEqual(await commandsOf(later.body.targets[0].id), ['echo after'])
  })

  test('accepts one of two changes based on the same version', async () => {
    const steps = await newPipeline()
    const { id } = await added(steps, 'one')
    const { headers } = await send('GET', `${steps}/${id}`)
    const write = (command: string) =>
      send('PUT', `${steps}/${id}`, { command }, { headers: { 'if-match': headers.etag! } })
    assert.equal((await write('echo first')).status, 200)
    assert.equal((await write('echo second')).status, 412)
  })

  test('is rejected with all errors at once', async () => {
    const steps = await newPipeline()
    await added(steps, 'taken')
    const shape = await send('POST', steps, {
      name: '',
      command: ' ',
      run_as_user: 'root; id',
      timeout_seconds: 0,
      idempotent: 'yes',
      irreversible: 1,
      run_on_revert: 'no',
      trigger_after: 0,
      order: 3,
    })
    assert.equal(shape.status, 422)
    assert.deepEqual(Object.keys(shape.body.errors).sort(), [
      'command',
      'idempotent',
      'irreversible',
      'name',
      'order',
      'run_as_user',
      'run_on_revert',
      'timeout_seconds',
      'trigger_after',
    ])
    const sense = await send('POST', steps, { name: 'taken', command: 'é'.repeat(40_000) })
    assert.deepEqual(Object.keys(sense.body.errors).sort(), ['command', 'name'])
    const builtIn = await send('POST', steps, { name: 'get-new-release', command: 'true' })
    assert.deepEqual(Object.keys(builtIn.body.errors), ['name'], 'names by which deploys are understood')
  })

  test('runs on a revert only if it may run twice', async () => {
    const steps = await newPipeline()
    const refused = await send('POST', steps, { name: 'restart', command: 'true', run_on_revert: true })
    assert.deepEqual([refused.status, Object.keys(refused.body.errors)], [422, ['run_on_revert']])
    const { id } = await added(steps, 'restart', { run_on_revert: true, idempotent: true })
    assert.equal((await send('PUT', `${steps}/${id}`, { idempotent: false })).status, 422)
    const changed = await send('PUT', `${steps}/${id}`, { idempotent: false, run_on_revert: false })
    assert.deepEqual([changed.status, changed.body.run_on_revert], [200, false])
  })

  test('follows a step of the same pipeline, and not itself', async () => {
    const steps = await newPipeline()
    const { id } = await added(steps, 'mine')
    const foreign = await added(await newPipeline(), 'foreign')
    for (const trigger_after of ['foreign', foreign.id, 999_999]) {
      const { status, body } = await send('POST', steps, { name: 'x', command: 'true', trigger_after })
      assert.equal(status, 404)
      assert.deepEqual(Object.keys(body.errors), ['trigger_after'])
    }
    for (const trigger_after of ['mine', id])
      assert.equal((await send('PUT', `${steps}/${id}`, { trigger_after })).status, 422)
    assert.equal((await send('GET', `${steps}/${foreign.id}`)).status, 404)
    assert.equal((await send('PUT', `${steps}/${foreign.id}`, { name: 'x' })).status, 404)
    assert.equal((await send('DELETE', `${steps}/${foreign.id}`)).status, 404)
  })

  test('gets a unique position under concurrent additions', async () => {
    const steps = await newPipeline()
    const names = Array.from({ length: 8 }, (_, index) => `step-${index}`)
    await Promise.all(names.map((name) => added(steps, name, { trigger_after: null })))
    assert.deepEqual((await namesOf(steps)).sort(), names)
  })

  test('is one of at most 200', async () => {
    const steps = await newPipeline()
    const pipeline_id = Number(steps.split('/')[2])
    await db
      .insertInto('pipeline_steps')
      .values(
        Array.from({ length: 199 }, (_, index) => ({
          pipeline_id,
          position: index + 2,
          name: `s${index}`,
          command: 'true',
        })),
      )
      .execute()
    await added(steps, 'the last one')
    assert.equal((await send('POST', steps, { name: 'too many', command: 'true' })).status, 409)
    assert.equal((await send('PUT', steps.replace('/steps', ''), { operation: 'deploy' })).status, 409)
  })

  test('is changed by callers who may edit pipelines', async () => {
    const steps = await newPipeline()
    const { id } = await added(steps, 'one')
    const by = { token: viewer.token }
    assert.equal((await send('POST', steps, { name: 'x', command: 'true' }, by)).status, 403)
    assert.equal((await send('PUT', `${steps}/${id}`, { name: 'x' }, by)).status, 403)
    assert.equal((await send('DELETE', `${steps}/${id}`, undefined, by)).status, 403)
  })

  test('leaves its whole history in the audit log', async () => {
    const steps = await newPipeline()
    const { id } = await added(steps, 'one')
    await send('PUT', `${steps}/${id}`, { command: 'echo changed' })
    await send('DELETE', `${steps}/${id}`)
    const entries = await db
      .selectFrom('audit_entries')
      .selectAll()
      .where('subject_type', '=', 'step')
      .where('subject_id', '=', String(id))
      .orderBy('id')
      .execute()
    const commandOf = (value: unknown) => (value as { command: string } | null)?.command ?? null
    assert.deepEqual(
      entries.map(({ verb, before, after }) => [verb, commandOf(before), commandOf(after)]),
      [
        ['created', null, 'echo one'],
        ['changed', 'echo one', 'echo changed'],
        ['removed', 'echo changed', null],
      ],
    )
  })
})

suite('a built-in step', () => {
  test('keeps its order among custom steps', async () => {
    const steps = await newPipeline('deploy')
    await added(steps, 'test', { trigger_after: 'build-application' })
    await added(steps, 'notify')
    const builtIn = DEPLOY_STEPS.map(({ name }) => name)
    assert.deepEqual(await namesOf(steps), [...builtIn.slice(0, 4), 'test', ...builtIn.slice(4), 'notify'])
  })

  test('lets only its timeout be changed', async () => {
    const steps = await newPipeline('deploy')
    const build = (await send('GET', steps)).body.find(({ name }: Step) => name === 'build-application')
    const address = `${steps}/${build.id}`
    const patient = await send('PUT', address, { timeout_seconds: 3_600 })
    assert.equal(patient.status, 200, patient.text)
    assert.equal(patient.body.timeout_seconds, 3_600)
    assert.equal(patient.body.id, build.id)
    assert.equal(patient.body.built_in, true)
    for (const body of [
      { command: 'true' },
      { name: 'mine' },
      { trigger_after: null },
      { run_as_user: 'root' },
    ]) {
      const { status, text } = await send('PUT', address, body)
      assert.equal(status, 409, text)
    }
    assert.equal((await send('DELETE', address)).status, 409)
    assert.deepEqual(
      await namesOf(steps),
      DEPLOY_STEPS.map(({ name }) => name),
    )
  })
})

test('only instance administrators change steps that run on this machine', async () => {
  const other = await createTestTree(db)
  const administrator = await createPerson(db, { admin: true })
  await grantRole(db, administrator.id, 'admin', { organizationId: other.organizationId })
  const steps = `/pipelines/${other.pipelineId}/steps`
  const owner = { token: other.owner.token }
  const own = await send('POST', steps, { name: 'own', command: 'true' }, owner)
  assert.equal(own.status, 201)
  await db
    .updateTable('servers')
    .set({ provider_code: 'local', host: null, port: null })
    .where('id', '=', other.serverIds[1]!)
    .execute()
  const address = `${steps}/${own.body.id}`
  assert.equal((await send('POST', steps, { name: 'mine', command: 'id' }, owner)).status, 403)
  assert.equal((await send('PUT', address, { command: 'id' }, owner)).status, 403)
  assert.equal((await send('PUT', address, { run_as_user: 'root' }, owner)).status, 403)
  assert.equal((await send('DELETE', address, undefined, owner)).status, 403)
  const by = { token: administrator.token }
  assert.equal((await send('PUT', address, { run_as_user: 'root' }, by)).status, 200)
})
