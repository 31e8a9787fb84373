// Hooks that cannot be connected, and what a connected one cannot be changed to.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { hookFor, moveTo, openConnections, startHost } from '#test/support/connections.ts'
import { createMember, createTestTree } from '#test/support/world.ts'

const world = await openConnections({ after })
const { db, tree, request, createHook, openHost, ask, done, removed } = world
const { token } = tree.owner

world.startWorker()

suite('a hook cannot be connected', () => {
  const refused = async (input: object, at = tree) =>
    request('POST', `/pipelines/${at.pipelineId}/hooks/incoming`, { token: at.owner.token, body: input })

  test('without a secret, or when it expects signatures that the host does not send', async (t) => {
    await openHost(t, 'github')
    const open = await refused({ name: 'Open', connect: true })
    assert.equal(open.status, 422)
    assert.match(open.body.errors.connect[0], /requires_secret/)
    const gitlabs = await refused({ ...hookFor('gitlab'), connect: true })
    assert.match(gitlabs.body.errors.connect[0], /GitHub sends X-Hub-Signature-256/)
    const hook = await createHook('gitlab')
    const asked = await ask(hook.id)
    assert.equal(asked.status, 409)
    assert.match(asked.body.message, /X-Gitlab-Token/)
  })

  test('without a credential of a host that Gantry knows', async () => {
    const other = await createTestTree(db)
    await db
      .updateTable('applications')
      .set({ credential_id: null })
      .where('id', '=', other.applicationId)
      .execute()
    const answer = await refused({ ...hookFor('github'), connect: true }, other)
    assert.equal(answer.status, 422)
    assert.match(answer.body.errors.connect[0], /credential must be a token of GitHub, GitLab or Gitea/)
  })

  test('by a person who may not use the credential, and then it is not created either', async (t) => {
    await openHost(t, 'github')
    const developer = await createMember(db, tree, 'developer')
    const answer = await request('POST', `/pipelines/${tree.pipelineId}/hooks/incoming`, {
      token: developer.token,
      body: hookFor('github', { connect: true, name: 'Mine' }),
    })
    assert.equal(answer.status, 403)
    assert.match(answer.body.message, /credential:run/)
    const found = await db.selectFrom('hooks').select('id').where('name', '=', 'Mine').execute()
    assert.equal(found.length, 0)
  })

  test('to events that the host does not have', async (t) => {
    const host = await startHost(t, 'gitlab')
    await moveTo(world, tree, 'gitlab', host.url)
    const hook = await createHook('gitlab')
    const answer = await ask(hook.id, '', { events: ['push'] })
    assert.equal(answer.status, 422)
    assert.match(answer.body.errors.events[0], /GitLab has no event push/)
  })

  test('to lose its secret while it is connected', async (t) => {
    await openHost(t, 'github')
    const hook = await createHook('github', { connect: true })
    await done(hook.id)
    const change = (body: object) => request('PUT', `/hooks/incoming/${hook.id}`, { token, body })
    const answer = await change({ requires_secret: false })
    assert.equal(answer.status, 422)
    assert.match(answer.body.errors.requires_secret[0], /Disconnect it first/)
    assert.equal((await change({ name: 'Renamed' })).status, 200)
    assert.equal((await change({ connect: false })).body.connection, null)
    await removed(hook.id)
    assert.equal((await change({ requires_secret: false })).status, 200)
  })
})
