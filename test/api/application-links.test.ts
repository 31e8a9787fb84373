// Links between applications and servers.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { openTestApp, type RequestOptions } from '#test/support/harness.ts'
import { createServer } from '#test/support/inventory.ts'
import {
  addEnvironment,
  auditOf,
  createAction,
  createMember,
  createPerson,
  createTestTree,
  grantRole,
} from '#test/support/world.ts'

const api = await openTestApp({ after })
const { db } = api
const tree = await createTestTree(db)
const developer = await createMember(db, tree, 'developer')
const viewer = await createMember(db, tree, 'viewer')
const administrator = await createPerson(db, { admin: true })
await grantRole(db, administrator.id, 'owner', { organizationId: tree.organizationId })

const { token } = tree.owner
const place = { createdBy: tree.owner.id, environmentId: tree.environmentId }
const send = (method: string, url: string, body?: unknown, more: RequestOptions = {}) =>
  api.request(method, url, { token, body, ...more })
let counter = 0
async function created() {
  const input = { name: `Application ${++counter}`, repository: 'https://github.com/acme/site.git' }
  const { status, body, text } = await send('POST', `/environments/${tree.environmentId}/applications`, input)
  assert.equal(status, 201, text)
  return body
}
const linked = (...ids: number[]) => ids.map((resource_id) => ({ resource_type: 'server', resource_id }))

suite('a link', () => {
  const linkOf = (application: number, server: number) =>
    `/resource-links/application/${application}/server/${server}`
  const serversOf = async (id: number) =>
    (await send('GET', `/applications/${id}`)).body.linked_resources.map(
      (one: { resource_id: number }) => one.resource_id,
    )

  test('is created and removed from either side, idempotently', async () => {
    const { id } = await created()
    const [one, two] = tree.serverIds as [number, number]
    for (const url of [linkOf(id, one), linkOf(id, one), `/resource-links/server/${two}/application/${id}`])
      assert.equal((await send('PUT', url)).status, 204, url)
    assert.deepEqual(await serversOf(id), [one, two])
    for (const url of [`/resource-links/server/${one}/application/${id}`, linkOf(id, one)])
      assert.equal((await send('DELETE', url)).status, 204)
    assert.deepEqual(await serversOf(id), [two])
    const verbs = (await auditOf(db, 'application', id)).map(({ verb }) => verb)
    assert.deepEqual(verbs, ['created', 'linked', 'linked', 'unlinked'])
  })

  test('stays within one environment', async () => {
    const { id } = await created()
    const neighbor = await addEnvironment(db, tree.owner.id, tree.projectId, tree.credentialId)
    for (const url of [
      linkOf(id, neighbor.serverIds[0]!),
      linkOf(neighbor.applicationId, tree.serverIds[0]!),
      `/resource-links/server/${neighbor.serverIds[0]}/application/${id}`,
      linkOf(id, 999_999),
    ])
      assert.equal((await send('PUT', url)).status, 404, url)
  })

  test('requires permission to edit the application and to run on the server', async () => {
    const { id } = await created()
    const [server] = tree.serverIds as [number]
    assert.equal((await send('PUT', linkOf(id, server), undefined, { token: viewer.token })).status, 403)
    assert.equal((await send('PUT', linkOf(id, server), undefined, { token: developer.token })).status, 204)
  })

  test('to a local server is for instance administrators', async () => {
    const { id } = await created()
    const server = await createServer(db, place, { root_directory: '/srv' })
    assert.equal((await send('PUT', linkOf(id, server))).status, 403)
    assert.deepEqual(await serversOf(id), [])
    const by = { token: administrator.token }
    assert.equal((await send('PUT', linkOf(id, server), undefined, by)).status, 204)
    assert.equal((await send('DELETE', linkOf(id, server))).status, 403)
  })

  test('is not removed while an unfinished run uses it', async () => {
    const other = await createTestTree(db)
    const by = { token: other.owner.token }
    const [one, two] = other.serverIds as [number, number]
    await createAction(
      db,
      { ...other, serverIds: [one] },
      { status: 'queued', status_reason_code: 'QUEUED', started_at: null, completed_at: null },
    )
    const busy = await send('DELETE', linkOf(other.applicationId, one), undefined, by)
    assert.equal(busy.status, 409)
    assert.match(busy.body.message, /web-1/)
    const body = { linked_resources: linked(two) }
    assert.equal((await send('PUT', `/applications/${other.applicationId}`, body, by)).status, 409)
    assert.equal((await send('DELETE', linkOf(other.applicationId, two), undefined, by)).status, 204)
  })
})
