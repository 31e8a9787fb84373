// Applications; their variables: application-variables.test.ts, their links to servers: application-links.test.ts.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { openTestApp, type RequestOptions } from '#test/support/harness.ts'
import { createServer } from '#test/support/inventory.ts'
import {
  addEnvironment,
  auditOf,
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

const { token } = tree.owner
const place = { createdBy: tree.owner.id, environmentId: tree.environmentId }
const send = (method: string, url: string, body?: unknown, more: RequestOptions = {}) =>
  api.request(method, url, { token, body, ...more })
const applicationsOf = ({ environmentId }: Pick<TestTree, 'environmentId'>) =>
  `/environments/${environmentId}/applications`
let counter = 0
const input = (more: object = {}) => ({
  name: `Application ${++counter}`,
  repository: 'https://github.com/acme/site.git',
  ...more,
})
const create = (more: object = {}, by: RequestOptions = {}) =>
  send('POST', applicationsOf(tree), input(more), by)

async function created(more: object = {}, by: RequestOptions = {}) {
  const { status, body, text } = await create(more, by)
  assert.equal(status, 201, text)
  return body
}

const linked = (...ids: number[]) => ids.map((resource_id) => ({ resource_type: 'server', resource_id }))

suite('an application', () => {
  test('is created, read, listed and changed; its folder never changes', async () => {
    const full = {
      name: 'Café №1',
      repository: 'https://github.com/acme/cafe.git',
      default_branch: 'trunk',
      programming_language: 'nodejs',
      engine_version: '26',
      framework: 'nextjs',
      root_directory: 'apps/web',
      install_dependencies_command: 'npm ci',
      build_command: 'npm run build',
      shared_paths: ['.env', 'storage/'],
      deployments_keep: 7,
      submodules: 'ignore',
      credential_id: tree.credentialId,
      linked_resources: linked(tree.serverIds[1]!),
    }
    const made = await send('POST', applicationsOf(tree), full)
    assert.equal(made.status, 201, made.text)
    const { credential_id, ...shown } = full
    for (const [field, value] of Object.entries(shown)) assert.deepEqual(made.body[field], value, field)
    assert.equal(made.body.credential.id, credential_id)
    assert.equal(made.body.framework_human_readable, 'Next.js')
    assert.deepEqual(made.body.last_deployments, { latest: null, live: null })
    assert.equal(made.body.folder, 'cafe-no1')

    const address = `/applications/${made.body.id}`
    const read = await send('GET', address)
    assert.deepEqual(read.body, made.body)
    assert.equal(read.headers.etag, made.headers.etag)

    const changed = await send('PUT', address, { name: 'Tea room', build_command: null, shared_paths: [] })
    assert.equal(changed.status, 200, changed.text)
    assert.deepEqual(
      { ...changed.body, updated_at: null },
      { ...made.body, name: 'Tea room', build_command: null, shared_paths: [], updated_at: null },
    )
    const list = await send('GET', `${applicationsOf(tree)}?filter[name]=TEA`)
    assert.deepEqual(list.body, [changed.body])
    assert.equal(list.headers['x-total-count'], '1')

    const entries = await auditOf(db, 'application', made.body.id)
    assert.deepEqual(
      entries.map(({ verb, user_id }) => ({ verb, user_id })),
      [
        { verb: 'created', user_id: tree.owner.id },
        { verb: 'changed', user_id: tree.owner.id },
      ],
    )
  })

  test('has defaults for omitted fields', async () => {
    const body = await created()
    assert.equal(body.default_branch, 'main')
    assert.equal(body.deployments_keep, 5)
    assert.equal(body.submodules, 'fetch')
    assert.equal(body.credential, null)
    assert.deepEqual(body.linked_resources, [])
  })

  test('shows its last deployments to callers who may see actions', async () => {
    const elsewhere = await createTestTree(db)
    const actionId = await createAction(db, elsewhere)
    const { body } = await send('GET', `/applications/${elsewhere.applicationId}`, undefined, {
      token: elsewhere.owner.token,
    })
    assert.equal(body.last_deployments.latest.id, actionId)
    assert.equal(body.last_deployments.live, null)
  })

  test('accepts one of two changes based on the same version', async () => {
    const { id } = await created()
    const { headers } = await send('GET', `/applications/${id}`)
    const write = (name: string) =>
      send('PUT', `/applications/${id}`, { name }, { headers: { 'if-match': headers.etag! } })
    assert.equal((await write('First writer')).status, 200)
    const second = await write('Second writer')
    assert.equal(second.status, 412)
    assert.equal((await send('GET', `/applications/${id}`)).body.name, 'First writer')
  })

  test('has a unique folder, even after an application of the same name was removed', async () => {
    const first = await created({ name: 'Same name!' })
    assert.equal((await send('DELETE', `/applications/${first.id}`)).status, 204)
    const second = await created({ name: 'Same name!' })
    const third = await created({ name: 'same-name' })
    assert.deepEqual([first.folder, second.folder, third.folder], ['same-name', 'same-name-2', 'same-name-3'])
  })

  test('is rejected with all errors at once', async () => {
    const { status, body } = await create({
      name: 'Shop',
      repository: 'ext::sh -c id',
      default_branch: 'a..b',
      root_directory: '../other',
      build_command: 'é'.repeat(40_000),
      shared_paths: ['ok', '/etc', 'a/../b'],
    })
    assert.equal(status, 422)
    assert.deepEqual(Object.keys(body.errors).sort(), [
      'build_command',
      'default_branch',
      'name',
      'repository',
      'root_directory',
      'shared_paths.1',
      'shared_paths.2',
    ])
    const shape = await create({
      deployments_keep: 101,
      submodules: 'clone',
      folder: 'mine',
      linked_resources: [{}],
    })
    assert.deepEqual(Object.keys(shape.body.errors).sort(), [
      'deployments_keep',
      'folder',
      'linked_resources.0.resource_id',
      'linked_resources.0.resource_type',
      'submodules',
    ])
    for (const root_directory of ['/etc', 'a//b', './a', 'a/\n'])
      assert.equal((await create({ root_directory })).status, 422, root_directory)
  })

  test('rejects ids of another organization or environment, and names them', async () => {
    const other = await createTestTree(db)
    const neighbor = await addEnvironment(db, tree.owner.id, tree.projectId, tree.credentialId)
    const credential = await create({ credential_id: other.credentialId })
    assert.equal(credential.status, 404)
    assert.deepEqual(Object.keys(credential.body.errors), ['credential_id'])
    for (const serverId of [other.serverIds[0]!, neighbor.serverIds[0]!, 999_999]) {
      const { status, body } = await create({ linked_resources: linked(tree.serverIds[0]!, serverId) })
      assert.equal(status, 404)
      assert.deepEqual(Object.keys(body.errors), ['linked_resources.1.resource_id'])
    }
  })

  test('does not exist for members of another organization', async () => {
    const other = await createTestTree(db)
    const { id } = await created()
    for (const [method, body] of [
      ['GET', undefined],
      ['PUT', { name: 'Mine' }],
      ['DELETE', undefined],
    ] as const) {
      const answer = await send(method, `/applications/${id}`, body, { token: other.owner.token })
      assert.equal(answer.status, 404)
    }
  })

  test('needs credential:run to get a credential, or to use it for another repository', async () => {
    const by = { token: developer.token }
    assert.equal((await create({ credential_id: tree.credentialId }, by)).status, 403)
    const { id } = await created({ credential_id: tree.credentialId })
    const change = (body: object, as: RequestOptions = by) => send('PUT', `/applications/${id}`, body, as)
    assert.equal((await change({ repository: 'https://github.com/acme/secrets.git' })).status, 403)
    assert.equal((await change({ credential_id: tree.credentialId, build_command: 'make' })).status, 200)
    const unfit = await change({ repository: 'https://evil.example/x.git' }, {})
    assert.equal(unfit.status, 422)
    assert.deepEqual(Object.keys(unfit.body.errors), ['repository'])
    assert.equal((await change({ repository: 'acme/other' }, {})).status, 200)
    assert.equal((await change({ credential_id: null })).status, 422, 'a short address needs a provider')
  })

  test('may have a repository on this machine only when an instance administrator sets it', async () => {
    const repository = 'file:///srv/git/site.git'
    assert.equal((await create({ repository })).status, 403)
    const { id } = await created({ repository }, { token: administrator.token })
    assert.equal((await send('PUT', `/applications/${id}`, { name: 'Renamed by its owner' })).status, 200)
    const { id: mine } = await created()
    assert.equal((await send('PUT', `/applications/${mine}`, { repository })).status, 403)
  })

  test('that runs on this machine lets only instance administrators change what runs', async () => {
    const server = await createServer(db, place, { root_directory: '/srv' })
    const rejected = await create({ linked_resources: linked(server) })
    assert.equal(rejected.status, 403)
    const { id } = await created({ linked_resources: linked(server) }, { token: administrator.token })
    for (const body of [
      { build_command: 'id' },
      { install_dependencies_command: 'id' },
      { shared_paths: ['x'] },
      { submodules: 'ignore' },
      { repository: 'https://github.com/acme/evil.git' },
      { default_branch: 'evil' },
      { linked_resources: [] },
    ])
      assert.equal((await send('PUT', `/applications/${id}`, body)).status, 403, JSON.stringify(body))
    const variable = { name: 'NODE_OPTIONS', value: '--require=/tmp/x' }
    assert.equal((await send('POST', `/applications/${id}/variables`, variable)).status, 403)
    assert.equal((await send('PUT', `/applications/${id}`, { name: 'Still mine' })).status, 200)
    const by = { token: administrator.token }
    assert.equal((await send('PUT', `/applications/${id}`, { build_command: 'make' }, by)).status, 200)
  })

  test('is removed only when nothing depends on it; dependents are named', async () => {
    const other = await createTestTree(db)
    const by = { token: other.owner.token }
    const address = `/applications/${other.applicationId}`
    const { status, body } = await send('DELETE', address, undefined, by)
    assert.equal(status, 409)
    assert.deepEqual(body.errors, {
      pipelines: ['1 pipeline: Deploy'],
      linked_resources: ['2 servers: web-1, web-2'],
    })
    assert.match(body.message, /Deploy.*cascade/)
  })

  test('is removed with its pipelines, hooks, links and variables; its runs stay', async () => {
    const other = await createTestTree(db)
    const by = { token: other.owner.token }
    const address = `/applications/${other.applicationId}`
    const hookId = await createHook(db, other, 'incoming')
    const actionId = await createAction(db, other)
    await send('POST', `${address}/variables`, { name: 'KEY', value: 'x' }, by)
    const follower = await send(
      'PUT',
      `/pipelines/${other.serverPipelineId}`,
      { run_after: [other.pipelineId] },
      by,
    )
    assert.deepEqual(follower.body.run_after, [other.pipelineId])

    const helper = await createMember(db, other, 'developer')
    assert.equal(
      (await send('DELETE', `${address}?cascade=true`, undefined, { token: helper.token })).status,
      403,
    )
    assert.equal((await send('DELETE', `${address}?cascade=true`, undefined, by)).status, 204)
    for (const url of [address, `/pipelines/${other.pipelineId}`, `/hooks/incoming/${hookId}`])
      assert.equal((await send('GET', url, undefined, by)).status, 404, url)
    const left = await send('GET', `/pipelines/${other.serverPipelineId}`, undefined, by)
    assert.deepEqual(left.body.run_after, [])
    const action = await send('GET', `/actions/${actionId}`, undefined, by)
    assert.equal(action.status, 200)
    assert.equal(action.body.resource.data.name, 'Shop')
    assert.equal((await send('POST', `/actions/${actionId}/retry`, undefined, by)).status, 409)
    const variables = await db
      .selectFrom('application_variables')
      .select('id')
      .where('application_id', '=', other.applicationId)
      .execute()
    assert.deepEqual(variables, [])
  })

  test('is not removed with dependents that the caller may not remove', async () => {
    const other = await createTestTree(db)
    const person = await createPerson(db)
    const { id: roleId } = await db
      .insertInto('roles')
      .values({
        organization_id: other.organizationId,
        name: 'Cleaner',
        permissions: ['application:view', 'application:remove'],
      })
      .returning('id')
      .executeTakeFirstOrThrow()
    await db
      .insertInto('grants')
      .values({ user_id: person.id, role_id: roleId, organization_id: other.organizationId })
      .execute()
    const address = `/applications/${other.applicationId}?cascade=true`
    const { status, body } = await send('DELETE', address, undefined, { token: person.token })
    assert.equal(status, 403)
    assert.match(body.message, /pipeline:remove/)
  })

  test('is not removed while a run is unfinished, cascade or not', async () => {
    const other = await createTestTree(db)
    await createAction(db, other, {
      status: 'queued',
      status_reason_code: 'QUEUED',
      started_at: null,
      completed_at: null,
    })
    for (const query of ['', '?cascade=true']) {
      const { status, body } = await send(
        'DELETE',
        `/applications/${other.applicationId}${query}`,
        undefined,
        {
          token: other.owner.token,
        },
      )
      assert.equal(status, 409)
      assert.match(body.message, /1 run is not finished/)
    }
  })
})
