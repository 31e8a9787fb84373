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

const ask = (method: string, url: string, body?: unknown, more: RequestOptions = {}) =>
  api.request(method, url, { token: developer.token, body, ...more })

async function newPipeline(operation = 'custom'): Promise<string> {
  const { body, text } = await ask('POST', `/pipelines/application/${tree.applicationId}`, {
    name: 'Work',
    operation,
  })
  assert.ok(body.id, text)
  return `/pipelines/${body.id}/steps`
}

async function added(steps: string, name: string, more: object = {}): Promise<Step> {
  const { status, body, text } = await ask('POST', steps, { name, command: `echo ${name}`, ...more })
  assert.equal(status, 201, text)
  return body
}

async function namesOf(steps: string): Promise<string[]> {
  const { body } = await ask('GET', `${steps}?per_page=100`)
  assert.deepEqual(
    body.map(({ order }: Step) => order),
    body.map((_: Step, index: number) => index + 1),
  )
  return body.map(({ name }: Step) => name)
}

suite('a step', () => {
  test('is added, read and listed', async () => {
    const steps = await newPipeline()
    const wish = {
      name: 'migrate',
      description: 'Change the tables',
      command: 'bin/migrate --yes',
      run_as_user: 'app',
      timeout_seconds: 30,
      idempotent: true,
    }
    const made = await ask('POST', steps, wish)
    assert.equal(made.status, 201, made.text)
    const { id, created_at, updated_at, ...shown } = made.body
    assert.deepEqual(shown, { ...wish, order: 1, built_in: false })
    const read = await ask('GET', `${steps}/${id}`, undefined, { token: viewer.token })
    assert.deepEqual(read.body, made.body)
    assert.equal(read.headers.etag, made.headers.etag)
    assert.deepEqual((await ask('GET', `${steps}?filter[name]=MIG`)).body, [made.body])
    assert.deepEqual((await ask('GET', `${steps}?filter[name]=x`)).body, [])
  })

  test('is the last one unless told where to go: by name, by id, or first of all', async () => {
    const steps = await newPipeline()
    await added(steps, 'a')
    const b = await added(steps, 'b')
    await added(steps, 'after-a', { trigger_after: 'a' })
    await added(steps, 'after-b', { trigger_after: b.id })
    await added(steps, 'first', { trigger_after: null })
    assert.deepEqual(await namesOf(steps), ['first', 'a', 'after-a', 'b', 'after-b'])
    await ask('PUT', `${steps}/${b.id}`, { trigger_after: null })
    assert.deepEqual(await namesOf(steps), ['b', 'first', 'a', 'after-a', 'after-b'])
    await ask('DELETE', `${steps}/${b.id}`)
    await added(steps, 'last')
    assert.deepEqual(await namesOf(steps), ['first', 'a', 'after-a', 'after-b', 'last'])
  })

  test('keeps its id, its place and what was not said when it is changed', async () => {
    const steps = await newPipeline()
    await added(steps, 'before')
    const one = await added(steps, 'one', { timeout_seconds: 5 })
    await added(steps, 'behind')
    const address = `${steps}/${one.id}`
    const changed = await ask('PUT', address, { name: 'two', description: 'Second' })
    assert.equal(changed.status, 200, changed.text)
    assert.deepEqual(
      { ...changed.body, updated_at: null },
      { ...one, name: 'two', description: 'Second', updated_at: null },
    )
    const again = await ask('PUT', address, { command: 'echo 3' })
    assert.equal(again.body.id, one.id)
    assert.deepEqual((await ask('GET', address)).body, again.body)
    assert.deepEqual(await namesOf(steps), ['before', 'two', 'behind'])
  })

  test('that is changed or removed is still what it was for runs that were started before', async () => {
    const other = await createTestTree(db)
    const by = { token: other.owner.token }
    await db.updateTable('applications').set({ credential_id: null }).execute()
    const steps = `/pipelines/${other.serverPipelineId}/steps`
    const changing = await ask('POST', steps, { name: 'changing', command: 'echo before' }, by)
    const leaving = await ask('POST', steps, { name: 'leaving', command: 'echo here' }, by)
    const started = await ask('POST', `/pipelines/${other.serverPipelineId}/actions`, undefined, by)
    assert.equal(started.status, 201, started.text)
    await ask('PUT', `${steps}/${changing.body.id}`, { command: 'echo after', trigger_after: 'leaving' }, by)
    await ask('DELETE', `${steps}/${leaving.body.id}`, undefined, by)
    const commandsOf = async (targetId: number) => {
      const run = await loadRun(db, api.box, targetId)
      return 'steps' in run && run.steps.map(({ command }) => command)
    }
    assert.deepEqual(await commandsOf(started.body.targets[0].id), ['echo before', 'echo here'])
    const later = await ask('POST', `/pipelines/${other.serverPipelineId}/actions`, undefined, by)
    assert.deepEqual(await commandsOf(later.body.targets[0].id), ['echo after'])
  })

  test('is written by one of two people who read the same version', async () => {
    const steps = await newPipeline()
    const { id } = await added(steps, 'one')
    const { headers } = await ask('GET', `${steps}/${id}`)
    const write = (command: string) =>
      ask('PUT', `${steps}/${id}`, { command }, { headers: { 'if-match': headers.etag! } })
    assert.equal((await write('echo first')).status, 200)
    assert.equal((await write('echo second')).status, 412)
  })

  test('is refused with all of its faults at once', async () => {
    const steps = await newPipeline()
    await added(steps, 'taken')
    const shape = await ask('POST', steps, {
      name: '',
      command: ' ',
      run_as_user: 'root; id',
      timeout_seconds: 0,
      idempotent: 'yes',
      trigger_after: 0,
      order: 3,
    })
    assert.equal(shape.status, 422)
    assert.deepEqual(Object.keys(shape.body.errors).sort(), [
      'command',
      'idempotent',
      'name',
      'order',
      'run_as_user',
      'timeout_seconds',
      'trigger_after',
    ])
    const sense = await ask('POST', steps, { name: 'taken', command: 'é'.repeat(40_000) })
    assert.deepEqual(Object.keys(sense.body.errors).sort(), ['command', 'name'])
    const builtIn = await ask('POST', steps, { name: 'get-new-release', command: 'true' })
    assert.deepEqual(Object.keys(builtIn.body.errors), ['name'], 'names by which deploys are understood')
  })

  test('follows a step of its own pipeline, and not itself', async () => {
    const steps = await newPipeline()
    const { id } = await added(steps, 'mine')
    const stranger = await added(await newPipeline(), 'stranger')
    for (const trigger_after of ['stranger', stranger.id, 999_999]) {
      const { status, body } = await ask('POST', steps, { name: 'x', command: 'true', trigger_after })
      assert.equal(status, 404)
      assert.deepEqual(Object.keys(body.errors), ['trigger_after'])
    }
    for (const trigger_after of ['mine', id])
      assert.equal((await ask('PUT', `${steps}/${id}`, { trigger_after })).status, 422)
    assert.equal((await ask('GET', `${steps}/${stranger.id}`)).status, 404)
    assert.equal((await ask('PUT', `${steps}/${stranger.id}`, { name: 'x' })).status, 404)
    assert.equal((await ask('DELETE', `${steps}/${stranger.id}`)).status, 404)
  })

  test('of people who add at once stands somewhere of its own', async () => {
    const steps = await newPipeline()
    const names = Array.from({ length: 8 }, (_, index) => `step-${index}`)
    await Promise.all(names.map((name) => added(steps, name, { trigger_after: null })))
    assert.deepEqual((await namesOf(steps)).sort(), names)
  })

  test('has room for 199 others', async () => {
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
    assert.equal((await ask('POST', steps, { name: 'too many', command: 'true' })).status, 409)
    assert.equal((await ask('PUT', steps.replace('/steps', ''), { operation: 'deploy' })).status, 409)
  })

  test('is changed by those who may edit pipelines', async () => {
    const steps = await newPipeline()
    const { id } = await added(steps, 'one')
    const by = { token: viewer.token }
    assert.equal((await ask('POST', steps, { name: 'x', command: 'true' }, by)).status, 403)
    assert.equal((await ask('PUT', `${steps}/${id}`, { name: 'x' }, by)).status, 403)
    assert.equal((await ask('DELETE', `${steps}/${id}`, undefined, by)).status, 403)
  })

  test('leaves its whole story in the audit', async () => {
    const steps = await newPipeline()
    const { id } = await added(steps, 'one')
    await ask('PUT', `${steps}/${id}`, { command: 'echo changed' })
    await ask('DELETE', `${steps}/${id}`)
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
  test('has people’s own steps around it, and keeps its order', async () => {
    const steps = await newPipeline('deploy')
    await added(steps, 'test', { trigger_after: 'build-application' })
    await added(steps, 'notify')
    const builtIn = DEPLOY_STEPS.map(({ name }) => name)
    assert.deepEqual(await namesOf(steps), [...builtIn.slice(0, 4), 'test', ...builtIn.slice(4), 'notify'])
  })

  test('can be given more time, and nothing else', async () => {
    const steps = await newPipeline('deploy')
    const build = (await ask('GET', steps)).body.find(({ name }: Step) => name === 'build-application')
    const address = `${steps}/${build.id}`
    const patient = await ask('PUT', address, { timeout_seconds: 3_600 })
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
      const { status, text } = await ask('PUT', address, body)
      assert.equal(status, 409, text)
    }
    assert.equal((await ask('DELETE', address)).status, 409)
    assert.deepEqual(
      await namesOf(steps),
      DEPLOY_STEPS.map(({ name }) => name),
    )
  })
})

test('steps that run on this machine are for instance administrators', async () => {
  const other = await createTestTree(db)
  const administrator = await createPerson(db, { admin: true })
  await grantRole(db, administrator.id, 'admin', { organizationId: other.organizationId })
  const steps = `/pipelines/${other.pipelineId}/steps`
  const owner = { token: other.owner.token }
  const own = await ask('POST', steps, { name: 'own', command: 'true' }, owner)
  assert.equal(own.status, 201)
  await db
    .updateTable('servers')
    .set({ provider_code: 'local', host: null, port: null })
    .where('id', '=', other.serverIds[1]!)
    .execute()
  const address = `${steps}/${own.body.id}`
  assert.equal((await ask('POST', steps, { name: 'mine', command: 'id' }, owner)).status, 403)
  assert.equal((await ask('PUT', address, { command: 'id' }, owner)).status, 403)
  assert.equal((await ask('PUT', address, { run_as_user: 'root' }, owner)).status, 403)
  assert.equal((await ask('DELETE', address, undefined, owner)).status, 403)
  const by = { token: administrator.token }
  assert.equal((await ask('PUT', address, { run_as_user: 'root' }, by)).status, 200)
})
