// All pipelines and hooks of an environment, as pages list them.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import type { Permission } from '#access/authorization/permissions.ts'
import { REMOVED_HOOK } from '#model/hooks/present-hook.ts'
import type { Hook } from '#model/hooks/schemas.ts'
import type { Pipeline } from '#model/pipelines/schemas.ts'
import { openTestApp } from '#test/support/harness.ts'
import { assertInvalid } from '#test/support/refusals.ts'
import { addEnvironment, createHook, createPerson, createTestTree } from '#test/support/world.ts'

const { db, request, statements } = await openTestApp({ after })
const tree = await createTestTree(db)
const { environmentId, organizationId, applicationId, serverIds, pipelineId, serverPipelineId } = tree
const staging = await addEnvironment(db, tree.owner.id, tree.projectId, tree.credentialId)
const onServer = { ...tree, pipelineId: serverPipelineId }
const body = { name: 'Push to main', requires_secret: true }
const push = await request('POST', `/pipelines/${pipelineId}/hooks/incoming`, {
  token: tree.owner.token,
  body,
})
const status = await createHook(db, tree, 'outgoing', { name: 'Commit status' })
const chat = await createHook(db, onServer, 'outgoing', { name: 'Tell 100% of Ärzte', active: false })
await createHook(db, { ...tree, ...staging }, 'outgoing', { name: 'Elsewhere' })
const removed = await createHook(db, tree, 'outgoing', { name: 'Removed' })
await db.updateTable('hooks').set(REMOVED_HOOK).where('id', '=', removed).execute()

const ask = (list: 'pipelines' | 'hooks', query = {}, token = tree.owner.token, id = environmentId) =>
  request('GET', `/environments/${id}/${list}?${new URLSearchParams(query)}`, { token })

async function idsOf(list: 'pipelines' | 'hooks', query = {}, token?: string) {
  const answer = await ask(list, query, token)
  assert.equal(answer.status, 200, answer.text)
  return answer.body.map(({ id }: Hook | Pipeline) => id)
}

async function withRole(...permissions: Permission[]): Promise<string> {
  const person = await createPerson(db)
  const { id: role_id } = await db
    .insertInto('roles')
    .values({ organization_id: organizationId, name: `Role of ${person.id}`, permissions })
    .returning('id')
    .executeTakeFirstOrThrow()
  const grant = { user_id: person.id, role_id, organization_id: organizationId }
  await db.insertInto('grants').values(grant).execute()
  return person.token
}

suite('the pipelines of an environment', () => {
  test('are those of all its applications and servers, newest first, as they are read one by one', async () => {
    const { body, headers } = await ask('pipelines')
    assert.deepEqual(
      body.map(({ id, name, resource_name }: Pipeline) => [id, name, resource_name]),
      [
        [serverPipelineId, 'Restart', 'web-1'],
        [pipelineId, 'Deploy', 'Shop'],
      ],
    )
    assert.equal(headers['x-total-count'], '2')
    const read = await request('GET', `/pipelines/${pipelineId}`, { token: tree.owner.token })
    assert.deepEqual(body[1], read.body)
  })

  test('are found by their name and that of their resource', async () => {
    assert.deepEqual(await idsOf('pipelines', { q: 'dePLOy' }), [pipelineId])
    assert.deepEqual(await idsOf('pipelines', { q: 'web-' }), [serverPipelineId])
    assert.deepEqual(await idsOf('pipelines', { q: 'sho' }), [pipelineId])
    assert.deepEqual(await idsOf('pipelines', { q: '%' }), [])
    assert.deepEqual(await idsOf('pipelines', { per_page: '1', page: '2' }), [pipelineId])
  })
})

suite('the hooks of an environment', () => {
  test('are those of all its pipelines, newest first, as they are read one by one', async () => {
    const { body, headers } = await ask('hooks')
    assert.deepEqual(
      body.map((hook: Hook) => [hook.id, hook.pipeline_name, hook.resource_type, hook.resource_name]),
      [
        [chat, 'Restart', 'server', 'web-1'],
        [status, 'Deploy', 'application', 'Shop'],
        [push.body.id, 'Deploy', 'application', 'Shop'],
      ],
    )
    assert.equal(headers['x-total-count'], '3')
    for (const hook of body) {
      const read = await request('GET', `/hooks/${hook.type}/${hook.id}`, { token: tree.owner.token })
      assert.deepEqual(hook, read.body)
    }
  })

  test('are filtered by type and state, and found by their name and those above them', async () => {
    assert.deepEqual(await idsOf('hooks', { 'filter[type]': 'incoming' }), [push.body.id])
    assert.deepEqual(await idsOf('hooks', { 'filter[active]': 'false' }), [chat])
    assert.deepEqual(await idsOf('hooks', { q: 'restart', 'filter[type]': 'incoming' }), [])
    for (const q of ['ärzte', '100%', 'restart', 'WEB-1'])
      assert.deepEqual(await idsOf('hooks', { q }), [chat], q)
    assert.deepEqual(await idsOf('hooks', { q: 'shop' }), [status, push.body.id])
    assert.deepEqual(await idsOf('hooks', { q: 'elsewhere' }), [])
    assert.deepEqual(await idsOf('hooks', { per_page: '2', page: '2' }), [push.body.id])
  })

  test('reject invalid filters', async () => {
    const query = { 'filter[type]': 'both', 'filter[active]': 'maybe', q: '', per_page: '101', name: 'x' }
    assertInvalid(await ask('hooks', query), 'filter[active]', 'filter[type]', 'name', 'per_page', 'q')
  })

  test('take the same few statements for many', async () => {
    const busy = await createTestTree(db)
    const first = await ask('hooks', {}, busy.owner.token, busy.environmentId)
    assert.equal(first.headers['x-total-count'], '0')
    for (let number = 0; number < 30; number++) await createHook(db, busy, 'outgoing')
    const countOf = async (per_page: string) => {
      statements.length = 0
      const answer = await ask('hooks', { per_page }, busy.owner.token, busy.environmentId)
      assert.equal(answer.body.length, Number(per_page))
      return statements.length
    }
    assert.equal(await countOf('30'), await countOf('1'))
  })
})

suite('a caller', () => {
  test('needs the permission of what is listed', async () => {
    const token = await withRole('environment:view')
    for (const list of ['pipelines', 'hooks'] as const) assert.equal((await ask(list, {}, token)).status, 403)
    const stranger = await createPerson(db)
    for (const list of ['pipelines', 'hooks'] as const)
      assert.equal((await ask(list, {}, stranger.token)).status, 404)
  })

  test('neither sees nor finds names that they may not know', async () => {
    const token = await withRole('environment:view', 'hook:view', 'server:view')
    const { body } = await ask('hooks', {}, token)
    assert.deepEqual(
      body.map((hook: Hook) => [hook.pipeline_name, hook.resource_name]),
      [
        [null, 'web-1'],
        [null, null],
        [null, null],
      ],
    )
    for (const q of ['deploy', 'shop']) assert.deepEqual(await idsOf('hooks', { q }, token), [])
    assert.deepEqual(await idsOf('hooks', { q: 'web' }, token), [chat])
    const reader = await withRole('environment:view', 'pipeline:view')
    const [restart] = (await ask('pipelines', {}, reader)).body
    assert.deepEqual([restart.resource_id, restart.resource_name], [serverIds[0], null])
    assert.deepEqual(await idsOf('pipelines', { q: 'web' }, reader), [])
    const watcher = await withRole('environment:view', 'pipeline:view', 'action:view')
    const [, deploy] = (await ask('pipelines', {}, watcher)).body
    assert.deepEqual([deploy.resource_id, deploy.resource_name], [applicationId, 'Shop'])
  })
})
