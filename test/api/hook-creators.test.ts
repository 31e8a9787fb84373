// A role with exactly the two permissions that the specification names: its holders create hooks of both kinds, and
// the hooks work.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import type { Permission } from '#access/authorization/permissions.ts'
import { assertStarted, type Hook, pathOf, sign } from '#test/support/calls.ts'
import { COMPLETED, IN_PROGRESS, openDeliveries, openReceiver } from '#test/support/deliveries.ts'
import { TEST_BASE_URL } from '#test/support/harness.ts'
import { createPerson, createTestTree } from '#test/support/world.ts'

const world = await openDeliveries({ after })
const { db, tree, request } = world

/** A member whose custom role, granted on the environment, has exactly these permissions. */
async function memberWith(...permissions: Permission[]): Promise<string> {
  const { organizationId, projectId, environmentId, owner } = tree
  const person = await createPerson(db)
  const role = await request('POST', `/organizations/${organizationId}/roles`, {
    token: owner.token,
    body: { name: person.email.slice(0, 60), permissions },
  })
  assert.equal(role.status, 201, role.text)
  const scope = { organization_id: organizationId, project_id: projectId, environment_id: environmentId }
  await db
    .insertInto('grants')
    .values({ user_id: person.id, role_id: role.body.id, ...scope })
    .execute()
  return person.token
}

const create = (
  token: string,
  type: 'incoming' | 'outgoing',
  body: object = {},
  pipeline = tree.pipelineId,
) =>
  request('POST', `/pipelines/${pipeline}/hooks/${type}`, {
    token,
    body: { name: 'Mine', ...(type === 'outgoing' && { target_url: 'https://example.com/' }), ...body },
  })

suite('a member with exactly application:view and hook:add', async () => {
  const token = await memberWith('application:view', 'hook:add')

  test('creates an unsigned incoming hook, whose URL starts runs', async () => {
    const { status, body, text } = await create(token, 'incoming')
    assert.equal(status, 201, text)
    assert.match(body.url, new RegExp(`^${TEST_BASE_URL}/hooks/[\\w-]{43}/trigger$`))
    assertStarted(await request('POST', pathOf(body), { body: {} }))
  })

  test('creates a signed incoming hook, whose URL and secret start runs', async () => {
    const variables = [{ name: 'branch', type: 'string', required: true }]
    const { body } = await create(token, 'incoming', { requires_secret: true, settings: { variables } })
    const hook: Hook = body
    const sent = JSON.stringify({ branch: 'main' })
    const call = (secret: string) =>
      request('POST', pathOf(hook), {
        rawBody: sent,
        headers: { 'content-type': 'application/json', 'x-hub-signature-256': sign(secret, sent) },
      })
    assert.equal((await call('not the secret')).status, 403)
    const id = assertStarted(await call(hook.secret!))
    const action = await request('GET', `/actions/${id}`, { token: tree.owner.token })
    assert.deepEqual(action.body.triggered_from.hook_parsed_variables, { branch: 'main' })
    assert.equal(action.body.triggered_from.hook_id, hook.id)
  })

  test('creates an outgoing hook, which delivers; its response shows the receiver in full', async (t) => {
    const receiver = await openReceiver(t)
    const target_url = `${receiver.url}/services/key?token=x`
    const settings = { request_body: { state: '{{ action.status }}' } }
    const { status, body, text } = await create(token, 'outgoing', { target_url, settings })
    assert.equal(status, 201, text)
    assert.equal(body.target_url, target_url)
    assert.match(body.secret, /^whsec_/)
    assert.deepEqual(body.settings.request_body, settings.request_body)
    await world.move(await world.startAction(tree), IN_PROGRESS, COMPLETED)
    const arrivals = await receiver.until(2)
    assert.deepEqual(
      arrivals.map(({ path, json }) => [path, json.state]),
      ['in-progress', 'completed'].map((state) => ['/services/key?token=x', state]),
    )
  })

  test('sees neither the pipeline nor hooks afterward', async () => {
    const { body } = await create(token, 'incoming')
    const paths = [
      `/pipelines/${tree.pipelineId}`,
      `/pipelines/${tree.pipelineId}/hooks`,
      `/hooks/incoming/${body.id}`,
      `/hooks/incoming/${body.id}/requests`,
    ]
    for (const path of paths) assert.equal((await request('GET', path, { token })).status, 404, path)
  })

  test("does not reach a server's pipeline, another environment or another organization", async () => {
    const other = await createTestTree(db)
    for (const pipeline of [tree.serverPipelineId, other.pipelineId, 999_999]) {
      for (const type of ['incoming', 'outgoing'] as const)
        assert.equal((await create(token, type, {}, pipeline)).status, 404)
    }
  })
})

test("server:view and hook:add create hooks of a server's pipeline, and of no application's", async () => {
  const token = await memberWith('server:view', 'hook:add')
  for (const type of ['incoming', 'outgoing'] as const) {
    assert.equal((await create(token, type, {}, tree.serverPipelineId)).status, 201)
    assert.equal((await create(token, type)).status, 404)
  }
})

test('one of the permissions is not enough: 403 for callers who see the pipeline, 404 for everybody else', async () => {
  const cases: [Permission[], number][] = [
    [['hook:add'], 404],
    [['application:view'], 404],
    [['application:view', 'hook:view', 'hook:edit'], 404],
    [['pipeline:view', 'hook:add'], 403],
    [['pipeline:view', 'application:view'], 403],
  ]
  for (const [permissions, status] of cases) {
    const token = await memberWith(...permissions)
    assert.equal((await create(token, 'incoming')).status, status, permissions.join())
  }
})

test('a creator with hook:view sees the URL once; later reads are masked', async () => {
  const token = await memberWith('application:view', 'pipeline:view', 'hook:view', 'hook:add')
  const incoming = (await create(token, 'incoming')).body
  const target_url = 'https://example.com/services/key'
  const outgoing = (await create(token, 'outgoing', { target_url })).body
  assert.doesNotMatch(incoming.url, /\*/)
  assert.equal(outgoing.target_url, target_url)
  const read = async (path: string) => (await request('GET', path, { token })).body
  assert.equal((await read(`/hooks/incoming/${incoming.id}`)).url, `${TEST_BASE_URL}/hooks/********/trigger`)
  assert.equal((await read(`/hooks/outgoing/${outgoing.id}`)).target_url, 'https://example.com/********')
})
