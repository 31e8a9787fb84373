// Personal access tokens that are restricted to organizations or projects: their user has more, they do not.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { openTestApp } from '#test/support/harness.ts'
import { createRun, listen, openStream } from '#test/support/streams.ts'
import {
  addEnvironment,
  createAction,
  createHook,
  createHookRequest,
  createPerson,
  createTestTree,
  grantRole,
  type Person,
  type TestTree,
} from '#test/support/world.ts'

const api = await openTestApp({ after }, { live: { recheckMs: 50, batchMs: 0 } })
const { db, request } = api
const host = await listen(api)

/** One person owns all of it: two organizations, and two projects in the first. */
const first = await createTestTree(db)
const second = await createTestTree(db)
const { owner } = first
await grantRole(db, owner.id, 'owner', { organizationId: second.organizationId })
const sibling = await createSibling(first)
const actionIds = {
  first: await createAction(db, first),
  sibling: await createAction(db, sibling),
  second: await createAction(db, second),
}

async function createSibling(tree: TestTree): Promise<TestTree> {
  const { id: projectId } = await db
    .insertInto('projects')
    .values({ organization_id: tree.organizationId, name: 'Sibling', created_by: tree.owner.id })
    .returning('id')
    .executeTakeFirstOrThrow()
  return { ...tree, projectId, ...(await addEnvironment(db, tree.owner.id, projectId, tree.credentialId)) }
}

const create = (body: object, person: Person = owner) =>
  request('POST', '/users/personal-access-tokens', { token: person.token, body: { name: 'CI', ...body } })

async function tokenWith(limits: object, person?: Person): Promise<string> {
  const { status, body, text } = await create(limits, person)
  assert.equal(status, 201, text)
  return body.token
}

const idsIn = async (url: string, token: string): Promise<number[]> =>
  (await request('GET', url, { token })).body.map(({ id }: { id: number }) => id)

const inFirst = await tokenWith({ organization_ids: [first.organizationId] })
const inSibling = await tokenWith({ project_ids: [sibling.projectId] })

suite('a restricted token', () => {
  test('lists only the organizations, projects and actions that it is restricted to', async () => {
    assert.deepEqual(await idsIn('/organizations', inFirst), [first.organizationId])
    assert.deepEqual(await idsIn('/organizations', inSibling), [])
    assert.deepEqual(await idsIn(`/organizations/${first.organizationId}/projects`, inFirst), [
      sibling.projectId,
      first.projectId,
    ])
    assert.deepEqual(await idsIn('/actions', inFirst), [actionIds.sibling, actionIds.first])
    assert.deepEqual(await idsIn('/actions', inSibling), [actionIds.sibling])
    assert.deepEqual(await idsIn(`/actions?filter[organization_id]=${second.organizationId}`, inFirst), [])
    assert.deepEqual(await idsIn('/actions', owner.token), [
      actionIds.second,
      actionIds.sibling,
      actionIds.first,
    ])
  })

  test('reads only actions that it is restricted to', async () => {
    const statuses = async (token: string) =>
      Promise.all(
        Object.values(actionIds).map(
          async (id) => (await request('GET', `/actions/${id}`, { token })).status,
        ),
      )
    assert.deepEqual(await statuses(inFirst), [200, 200, 404])
    assert.deepEqual(await statuses(inSibling), [404, 200, 404])
  })

  test('sees only its own part of the overview', async () => {
    for (const tree of [first, sibling, second]) {
      await createHook(db, tree, 'outgoing', {
        name: `Of ${tree.projectId}`,
        disabled_at: new Date(),
        disabled_reason: 'failing',
        active: false,
      })
    }
    const failing = async (token: string) =>
      (await request('GET', '/overview', { token })).body.deliveries.failing
        .map(({ name }: { name: string }) => name)
        .sort()
    assert.deepEqual(await failing(inFirst), [`Of ${first.projectId}`, `Of ${sibling.projectId}`].sort())
    assert.deepEqual(await failing(inSibling), [`Of ${sibling.projectId}`])
  })

  test('finds only names that it is restricted to', async () => {
    const named = async (token: string) => {
      const { body } = await request('GET', '/names?type=project,pipeline,credential&per_page=100', { token })
      return body.map(({ type, id }: { type: string; id: number }) => `${type} ${id}`).sort()
    }
    const inProject = ({ projectId, pipelineId, serverPipelineId }: TestTree) => [
      `project ${projectId}`,
      `pipeline ${pipelineId}`,
      `pipeline ${serverPipelineId}`,
    ]
    assert.deepEqual(await named(inSibling), inProject(sibling).sort())
    const everywhere = [...inProject(first), ...inProject(sibling), `credential ${first.credentialId}`]
    assert.deepEqual(await named(inFirst), everywhere.sort())
  })

  test('follows only what it is restricted to', async () => {
    const hidden = await createRun(db, first)
    const shown = await createRun(db, sibling)
    const { status } = await request('GET', `/actions/${hidden.actionId}/stream`, {
      token: inSibling,
      headers: { accept: 'text/event-stream' },
    })
    assert.equal(status, 404)
    const stream = await openStream(`${host}/actions/stream`, inSibling)
    await stream.until((events) => events.some(({ type }) => type === 'ready'))
    await hidden.move('in-progress')
    await shown.move('in-progress')
    await stream.until((events) => events.some(({ type }) => type === 'action'))
    await stream.cut()
    const seen = stream.events.filter(({ type }) => type === 'action').map(({ data }) => data.action_id)
    assert.deepEqual(seen, [shown.actionId])
  })

  test('starts runs only where it is restricted to', async () => {
    const plan = async (tree: TestTree) =>
      (await request('POST', `/pipelines/${tree.pipelineId}/plan`, { token: inSibling })).status
    assert.deepEqual([await plan(first), await plan(sibling), await plan(second)], [404, 200, 404])
  })

  test('of an instance administrator does not act as one', async () => {
    const admin = await createPerson(db, { admin: true })
    await grantRole(db, admin.id, 'owner', { organizationId: first.organizationId })
    const restricted = await tokenWith({ organization_ids: [first.organizationId] }, admin)
    const scoped = await tokenWith({ scopes: ['read', 'manage'] }, admin)
    const body = { name: 'New' }
    assert.equal((await request('GET', '/jobs/dead-letters', { token: restricted })).status, 403)
    assert.equal((await request('POST', '/organizations', { token: restricted, body })).status, 403)
    assert.equal((await request('GET', '/jobs/dead-letters', { token: scoped })).status, 200)
    assert.equal((await request('POST', '/organizations', { token: scoped, body })).status, 201)
    const local = { name: 'local', provider_code: 'local', root_directory: '/srv/local' }
    const url = `/environments/${first.environmentId}/servers`
    assert.equal((await request('POST', url, { token: restricted, body: local })).status, 403)
  })

  test('grants roles only where it is restricted to', async () => {
    const change = (tree: TestTree, token: string) =>
      request('POST', `/organizations/${tree.organizationId}/roles`, {
        token,
        body: { name: `By ${token.slice(-6)}`, permissions: ['hook:view'] },
      })
    assert.equal((await change(first, inFirst)).status, 201)
    assert.equal((await change(second, inFirst)).status, 404)
    assert.equal((await change(first, inSibling)).status, 404)
  })

  test('applies documents only where it is restricted to', async () => {
    const nameOf = async (table: 'organizations' | 'projects', id: number) =>
      (await db.selectFrom(table).select('name').where('id', '=', id).executeTakeFirstOrThrow()).name
    const apply = async (tree: TestTree, token: string) => {
      const organization = JSON.stringify(await nameOf('organizations', tree.organizationId))
      const project = JSON.stringify(await nameOf('projects', tree.projectId))
      const environments = '  applied: {type: staging}\n'
      const document = `organization: ${organization}\nproject: {name: ${project}}\nenvironments:\n${environments}`
      return (await request('POST', '/apply', { token, body: { document } })).status
    }
    assert.equal(await apply(second, inFirst), 403)
    assert.equal(await apply(first, inSibling), 403)
    assert.equal(await apply(sibling, inSibling), 200)
    assert.equal(await apply(first, inFirst), 200)
    // The second one has the same name now, but the token cannot reach it.
    const name = await nameOf('organizations', first.organizationId)
    await db.updateTable('organizations').set({ name }).where('id', '=', second.organizationId).execute()
    await db.deleteFrom('environments').where('name', '=', 'applied').execute()
    assert.equal(await apply(first, owner.token), 422, 'ambiguous')
    assert.equal(await apply(first, inFirst), 200)
  })

  test('can do no more than its user: a lost role takes effect on the token', async () => {
    const person = await createPerson(db)
    await grantRole(db, person.id, 'developer', { organizationId: first.organizationId })
    const token = await tokenWith({ project_ids: [sibling.projectId] }, person)
    assert.deepEqual(await idsIn('/actions', token), await idsIn('/actions', inSibling))
    const edit = await request('PUT', `/projects/${sibling.projectId}`, { token, body: { name: 'Mine' } })
    assert.equal(edit.status, 403)
    await db.deleteFrom('grants').where('user_id', '=', person.id).execute()
    assert.deepEqual(await idsIn('/actions', token), [])
  })
})

test('a role on one environment stays one, however its token is restricted', async () => {
  const person = await createPerson(db)
  const scope = { organizationId: first.organizationId, projectId: sibling.projectId }
  await grantRole(db, person.id, 'viewer', { ...scope, environmentId: sibling.environmentId })
  const token = await tokenWith({ project_ids: [sibling.projectId] }, person)
  assert.equal((await request('GET', `/environments/${sibling.environmentId}`, { token })).status, 200)
  assert.equal((await request('GET', `/projects/${sibling.projectId}`, { token })).status, 404)
})

suite('creating a restricted token', () => {
  test('shows its restrictions', async () => {
    const limits = {
      scopes: ['read', 'hooks'],
      organization_ids: [first.organizationId, second.organizationId],
      project_ids: [sibling.projectId, second.projectId],
    }
    const { body } = await create(limits)
    const { scopes, organization_ids, project_ids } = body
    assert.deepEqual({ scopes, organization_ids, project_ids }, limits)
  })

  test('names organizations and projects that do not exist or that the user has no role in', async () => {
    const stranger = await createTestTree(db)
    const { status, body } = await create({
      organization_ids: [first.organizationId, stranger.organizationId, 999_999],
      project_ids: [stranger.projectId, 999_999, first.projectId],
    })
    assert.equal(status, 422)
    const unknown = ['does not exist, or you cannot access it']
    assert.deepEqual(body.errors, {
      'organization_ids.1': unknown,
      'organization_ids.2': unknown,
      'project_ids.0': unknown,
      'project_ids.1': unknown,
    })
  })

  test('rejects a project outside of the listed organizations', async () => {
    const { status, body } = await create({
      organization_ids: [first.organizationId],
      project_ids: [second.projectId],
    })
    assert.equal(status, 422)
    assert.deepEqual(body.errors, { 'project_ids.0': ['does not belong to any of organization_ids'] })
  })

  test('rejects empty lists and what is no id', async () => {
    for (const [limits, field] of [
      [{ organization_ids: [] }, 'organization_ids'],
      [{ project_ids: [] }, 'project_ids'],
      [{ project_ids: [0] }, 'project_ids.0'],
      [{ project_ids: ['x'] }, 'project_ids.0'],
      [{ organization_ids: 1 }, 'organization_ids'],
    ] as const) {
      const { status, body } = await create(limits)
      assert.deepEqual([status, Object.keys(body.errors)], [422, [field]], JSON.stringify(limits))
    }
  })
})

suite('scopes', () => {
  test('of a document: changes of hooks require the scope hooks, the rest manage', async () => {
    const tree = await createTestTree(db)
    const { name } = await db
      .selectFrom('organizations')
      .select('name')
      .where('id', '=', tree.organizationId)
      .executeTakeFirstOrThrow()
    const document = (hooks: string) => `organization: ${name}
project: {name: Scoped}
environments:
  live:
    type: production
    applications:
      shop:
        repository: https://git.example.com/shop.git
        pipelines: {Deploy: {operation: deploy${hooks}}}
`
    const apply = (text: string, token: string, prune = false) =>
      request('POST', '/apply', { token, body: { document: text, prune } })
    const withHook = document(', hooks: {incoming: {Push: {}}}')
    const manage = await tokenWith({ scopes: ['manage'] }, tree.owner)
    const refused = await apply(withHook, manage)
    assert.equal(refused.status, 403)
    assert.match(JSON.stringify(refused.body.errors), /a token with the scope hooks/)
    assert.equal((await apply(document(''), manage)).status, 200)
    assert.equal((await apply(withHook, await tokenWith({ scopes: ['hooks'] }, tree.owner))).status, 403)
    const both = await tokenWith({ scopes: ['hooks', 'manage'] }, tree.owner)
    assert.equal((await apply(withHook, both)).status, 200)
    assert.equal((await apply(withHook, manage)).status, 200, 'what exists already needs no scope')
    assert.equal((await apply(document(''), manage, true)).status, 403, 'pruning removes the hook')
  })

  test('hook requests require the scope read', async () => {
    const [reading, hooks] = [await tokenWith({ scopes: ['read'] }), await tokenWith({ scopes: ['hooks'] })]
    const id = await createHook(db, first, 'incoming')
    const url = `/hooks/incoming/${id}/requests`
    assert.equal((await request('GET', url, { token: reading })).status, 200)
    assert.equal((await request('GET', url, { token: hooks })).status, 403)
  })

  test('a token that may only read does not see the URL that triggers a hook, nor keys of receivers', async () => {
    const tree = await createTestTree(db)
    const hooks = `/pipelines/${tree.pipelineId}/hooks`
    const made = await request('POST', `${hooks}/incoming`, {
      token: tree.owner.token,
      body: { name: 'Push' },
    })
    const target_url = 'https://example.com/services/key-of-the-receiver'
    const delivering = await createHook(db, tree, 'outgoing', { target_url })
    await createHookRequest(db, delivering, 'outgoing', { url: target_url })
    const seenWith = async (scopes: string[]) => {
      const token = await tokenWith({ scopes }, tree.owner)
      const read = async (url: string) => (await request('GET', url, { token })).body
      return [
        (await read(`/hooks/incoming/${made.body.id}`)).url,
        (await read(hooks)).find(({ id }: { id: string }) => id === made.body.id).url,
        (await read(`/hooks/outgoing/${delivering}`)).target_url,
        (await read(`/hooks/outgoing/${delivering}/requests`))[0].url,
      ]
    }
    assert.deepEqual(await seenWith(['read', 'hooks']), [
      made.body.url,
      made.body.url,
      target_url,
      target_url,
    ])
    for (const url of await seenWith(['read', 'run', 'manage'])) assert.match(url, /\*{8}/)
  })
})
