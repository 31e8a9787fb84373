// Health checks of applications and pipelines, and the step that they add to deploys.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import { openTestApp, type RequestOptions } from '#test/support/harness.ts'
import { addEnvironment, createMember, createTestTree, type TestTree } from '#test/support/world.ts'

const api = await openTestApp({ after })
const { db } = api
const tree = await createTestTree(db)

const send = (method: string, url: string, body?: unknown, more: RequestOptions = {}) =>
  api.request(method, url, { token: tree.owner.token, body, ...more })

// biome-ignore lint/suspicious/noExplicitAny: tests read responses of every shape
async function ok(method: string, url: string, body?: unknown): Promise<any> {
  const answer = await send(method, url, body)
  assert.ok(answer.status < 300, `${method} ${url}: ${answer.text}`)
  return answer.body
}

let count = 0
async function makeApplication(more: object = {}) {
  const input = { name: `Shop ${++count}`, repository: 'https://example.com/a.git', ...more }
  return ok('POST', `/environments/${tree.environmentId}/applications`, input)
}
const makeDeploy = (applicationId: number, more: object = {}) =>
  ok('POST', `/pipelines/application/${applicationId}`, {
    name: `Ship ${++count}`,
    operation: 'deploy',
    ...more,
  })
const namesOf = (pipeline: { steps: { name: string }[] }) => pipeline.steps.map(({ name }) => name)

const HTTP = { type: 'http', url: 'http://127.0.0.1:3000/health' }
const TIMING = { interval_seconds: 2, timeout_seconds: 5, within_seconds: 60, healthy_for_seconds: 0 }
const WHOLE = { ...HTTP, expect_status: '200-299', expect_body: null, ...TIMING }
const TCP = { type: 'tcp', port: 3000, ...TIMING }
const LAST = ['activate-new-release', 'check-health', 'remove-old-releases']

suite('a health check', () => {
  test('of an application is created, read, changed and removed, with its defaults', async () => {
    const made = await makeApplication({ health_check: HTTP })
    assert.deepEqual(made.health_check, WHOLE)
    assert.deepEqual(Object.keys(made.health_check), Object.keys(WHOLE))
    const address = `/applications/${made.id}`
    assert.deepEqual((await ok('GET', address)).health_check, WHOLE)
    assert.deepEqual((await ok('PUT', address, { name: `Shop ${++count}` })).health_check, WHOLE)
    assert.deepEqual((await ok('PUT', address, { health_check: TCP })).health_check, TCP)
    assert.equal((await ok('PUT', address, { health_check: null })).health_check, null)
    assert.equal((await makeApplication()).health_check, null)
  })

  test('adds its step to every deploy, right before old releases are removed', async () => {
    const application = await makeApplication()
    const pipeline = await makeDeploy(application.id)
    const other = await ok('POST', `/pipelines/application/${application.id}`, {
      name: 'Warm',
      operation: 'custom',
    })
    await ok('POST', `/pipelines/${pipeline.id}/steps`, {
      name: 'restart',
      command: 'true',
      trigger_after: 'activate-new-release',
    })
    await ok('POST', `/pipelines/${pipeline.id}/steps`, { name: 'notify', command: 'true' })
    await ok('PUT', `/applications/${application.id}`, { health_check: HTTP })
    const shown = await ok('GET', `/pipelines/${pipeline.id}`)
    assert.equal(shown.health_check, null)
    const names = ['activate-new-release', 'restart', 'check-health', 'remove-old-releases', 'notify']
    assert.deepEqual(namesOf(shown).slice(4), names)
    const [step] = shown.steps.filter(({ name }: { name: string }) => name === 'check-health')
    assert.deepEqual([step.built_in, step.command, step.timeout_seconds], [true, null, 125])
    assert.deepEqual(namesOf(await ok('GET', `/pipelines/${other.id}`)), [])
    assert.deepEqual(namesOf(await makeDeploy(application.id)).slice(4), LAST)

    // A step keeps its id, and a run what it was planned with.
    await ok('PUT', `/applications/${application.id}`, { health_check: TCP })
    const changed = await ok('GET', `/pipelines/${pipeline.id}`)
    assert.equal(changed.steps.find(({ name }: { name: string }) => name === 'check-health').id, step.id)
    const { rows } = await sql<{ check: { type: string }; removed: boolean }>`
      select health_check as check, removed_at is not null as removed from pipeline_steps
      where pipeline_id = ${pipeline.id} and name = 'check-health' order by id`.execute(db)
    assert.deepEqual(
      rows.map(({ check, removed }) => [check.type, removed]),
      [
        ['http', true],
        ['tcp', false],
      ],
    )
    await ok('PUT', `/applications/${application.id}`, { health_check: null })
    assert.ok(!namesOf(await ok('GET', `/pipelines/${pipeline.id}`)).includes('check-health'))
  })

  test('of a pipeline replaces that of its application', async () => {
    const application = await makeApplication({ health_check: HTTP })
    const pipeline = await makeDeploy(application.id, { health_check: { type: 'tcp', port: 3000 } })
    assert.deepEqual(pipeline.health_check, TCP)
    const checked = async () => {
      const { rows } = await sql<{ type: string }>`
        select health_check ->> 'type' as type from pipeline_steps
        where pipeline_id = ${pipeline.id} and name = 'check-health' and removed_at is null`.execute(db)
      return rows.map(({ type }) => type)
    }
    assert.deepEqual(await checked(), ['tcp'])
    await ok('PUT', `/applications/${application.id}`, { health_check: null })
    assert.deepEqual(await checked(), ['tcp'])
    await ok('PUT', `/pipelines/${pipeline.id}`, { health_check: null })
    assert.deepEqual(await checked(), [])
    await ok('PUT', `/applications/${application.id}`, { health_check: HTTP })
    assert.deepEqual(await checked(), ['http'])
  })

  test('is part of the plan of a run', async () => {
    const { applicationId, pipelineId } = await addEnvironment(
      db,
      tree.owner.id,
      tree.projectId,
      tree.credentialId,
    )
    await ok('PUT', `/applications/${applicationId}`, { health_check: HTTP })
    const plan = await ok('POST', `/pipelines/${pipelineId}/plan`, {})
    assert.deepEqual(namesOf(plan.targets[0]).slice(4), LAST)
  })

  test('that is wrong is refused at its field, and nothing is stored', async () => {
    const application = await makeApplication()
    const pipeline = await makeDeploy(application.id)
    const wrong: [object, string[]][] = [
      [{}, ['health_check.type']],
      [{ type: 'http' }, ['health_check.url']],
      [{ type: 'http', url: 'ftp://host/' }, ['health_check.url']],
      [{ type: 'http', url: 'http://user:word@host/' }, ['health_check.url']],
      [{ type: 'tcp', port: 0 }, ['health_check.port']],
      [{ type: 'tcp', port: 65_536 }, ['health_check.port']],
      [{ type: 'command', command: ' ' }, ['health_check.command']],
      [{ ...HTTP, expect_status: 99 }, ['health_check.expect_status']],
      [{ ...HTTP, expect_status: '2xx' }, ['health_check.expect_status']],
      [{ ...HTTP, expect_body: 'x'.repeat(1_001) }, ['health_check.expect_body']],
      [
        { ...HTTP, interval_seconds: 0, timeout_seconds: 61, within_seconds: 901, healthy_for_seconds: 601 },
        [
          'health_check.healthy_for_seconds',
          'health_check.interval_seconds',
          'health_check.timeout_seconds',
          'health_check.within_seconds',
        ],
      ],
      [{ ...HTTP, within_seconds: 5, healthy_for_seconds: 6 }, ['health_check.healthy_for_seconds']],
      [{ ...HTTP, retries: 3 }, ['health_check.retries']],
    ]
    for (const [health_check, fields] of wrong)
      for (const address of [`/applications/${application.id}`, `/pipelines/${pipeline.id}`]) {
        const { status, body } = await send('PUT', address, { health_check })
        assert.equal(status, 422, JSON.stringify(health_check))
        assert.deepEqual(Object.keys(body.errors).sort(), fields, JSON.stringify(health_check))
      }
    const made = await send('POST', `/environments/${tree.environmentId}/applications`, {
      name: 'Other',
      repository: 'https://example.com/a.git',
      health_check: { type: 'tcp' },
    })
    assert.deepEqual([made.status, Object.keys(made.body.errors)], [422, ['health_check.port']])
    assert.equal((await ok('GET', `/applications/${application.id}`)).health_check, null)
  })

  test('is for deploys', async () => {
    const application = await makeApplication()
    const custom = { name: 'Warm', operation: 'custom' }
    const address = `/pipelines/application/${application.id}`
    const refused = await send('POST', address, { ...custom, health_check: HTTP })
    assert.deepEqual([refused.status, Object.keys(refused.body.errors)], [422, ['health_check']])
    const pipeline = await makeDeploy(application.id, { health_check: HTTP })
    assert.equal((await send('PUT', `/pipelines/${pipeline.id}`, { operation: 'custom' })).status, 422)
    const changed = await ok('PUT', `/pipelines/${pipeline.id}`, { operation: 'custom', health_check: null })
    assert.deepEqual(namesOf(changed), [])
    await ok('PUT', `/applications/${application.id}`, { health_check: HTTP })
    assert.deepEqual(
      namesOf(await ok('PUT', `/pipelines/${pipeline.id}`, { operation: 'deploy' })).slice(4),
      LAST,
    )
  })
})

suite('the step of a health check', () => {
  test('can be neither changed, moved nor removed, and nothing is put behind it', async () => {
    const application = await makeApplication({ health_check: HTTP })
    const pipeline = await makeDeploy(application.id)
    const { id } = pipeline.steps.find(({ name }: { name: string }) => name === 'check-health')
    const address = `/pipelines/${pipeline.id}/steps`
    for (const change of [{ timeout_seconds: 5 }, { trigger_after: null }, { command: 'true' }])
      assert.equal((await send('PUT', `${address}/${id}`, change)).status, 409, JSON.stringify(change))
    assert.equal((await send('DELETE', `${address}/${id}`)).status, 409)
    for (const trigger_after of [id, 'check-health']) {
      const { status, body } = await send('POST', address, { name: 'notify', command: 'true', trigger_after })
      assert.equal(status, 422)
      assert.match(body.errors.trigger_after[0], /^must not be check-health/)
    }
  })

  test('has a name that no other step may take; one that has it keeps it', async () => {
    const application = await makeApplication()
    const pipeline = await makeDeploy(application.id)
    const address = `/pipelines/${pipeline.id}/steps`
    assert.equal((await send('POST', address, { name: 'check-health', command: 'true' })).status, 422)
    const step = await ok('POST', address, { name: 'check', command: 'true' })
    // As in a database of an earlier release.
    await db.updateTable('pipeline_steps').set({ name: 'check-health' }).where('id', '=', step.id).execute()
    await ok('PUT', `${address}/${step.id}`, { name: 'check-health', command: 'false' })
    for (const at of [`/applications/${application.id}`, `/pipelines/${pipeline.id}`]) {
      const { status, body } = await send('PUT', at, { health_check: HTTP })
      assert.equal(status, 409)
      assert.match(body.message, /is named check-health, like the step that a health check adds: rename it/)
    }
  })

  test('does not fit into a pipeline that has all the steps it can have', async () => {
    const application = await makeApplication()
    const pipeline = await makeDeploy(application.id)
    const rows = Array.from({ length: 194 }, (_, index) => ({
      pipeline_id: pipeline.id as number,
      position: index + 7,
      name: `step-${index}`,
      command: 'true',
    }))
    await db.insertInto('pipeline_steps').values(rows).execute()
    const { status, body } = await send('PUT', `/applications/${application.id}`, { health_check: HTTP })
    assert.equal(status, 409)
    assert.match(body.message, /has 200 steps, and a health check adds one/)
  })
})

suite('on local servers', () => {
  test('only instance administrators change what is asked there', async () => {
    const developer = await createMember(db, tree, 'developer')
    await db
      .updateTable('servers')
      .set({ provider_code: 'local', host: null, port: null, login_name: null })
      .where('id', 'in', tree.serverIds)
      .execute()
    const { pipelineId, applicationId }: TestTree = tree
    for (const address of [`/applications/${applicationId}`, `/pipelines/${pipelineId}`]) {
      const by = { token: developer.token }
      assert.equal((await send('PUT', address, { health_check: HTTP }, by)).status, 403, address)
      assert.equal((await send('PUT', address, { health_check: null }, by)).status, 200, address)
    }
  })
})

suite('a document', () => {
  test('describes health checks, compares them with their defaults, and is exported with them', async () => {
    const document = `
organization: ${(await ok('GET', `/organizations/${tree.organizationId}`)).name}
project: {name: Checked}
environments:
  production:
    type: production
    applications:
      api:
        repository: https://example.com/api.git
        health_check: {type: http, url: "http://127.0.0.1:8080/up", within_seconds: 30}
        pipelines:
          Deploy:
            operation: deploy
            health_check: {type: tcp, port: 8080}
            steps:
              - {name: restart, command: "true", trigger_after: activate-new-release}
`
    const applied = await ok('POST', '/apply', { document })
    assert.ok(applied.summary.create > 0)
    assert.deepEqual((await ok('POST', '/apply', { document })).changes, [])
    const exported = await send('GET', `/organizations/${tree.organizationId}/export?project=Checked`)
    assert.equal(exported.status, 200, exported.text)
    assert.match(exported.text, /health_check:\n {10}type: http\n {10}url: http:\/\/127.0.0.1:8080\/up\n/)
    assert.doesNotMatch(exported.text, /check-health/)
    const values = { SOURCE_TOKEN: 'secret-of-source' }
    const { changes: again } = await ok('POST', '/apply', { document: exported.text, values })
    assert.deepEqual(
      again.filter(({ type }: { type: string }) => type !== 'credential'),
      [],
    )

    const off = document.replace(/ +health_check: \{type: tcp.*\n/, '            health_check: null\n')
    const { changes } = await ok('POST', '/apply', { document: off })
    assert.deepEqual(
      changes.map(({ type, fields }: { type: string; fields: { field: string }[] }) => [
        type,
        fields.map(({ field }) => field),
      ]),
      [['pipeline', ['health_check']]],
    )
    const wrong = await send('POST', '/apply', { document: document.replace('tcp, port: 8080', 'tcp') })
    assert.equal(wrong.status, 422)
    assert.match(JSON.stringify(wrong.body.errors), /health_check.*is required for the type tcp/)
  })
})
