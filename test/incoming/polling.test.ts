// Hooks that poll repositories: git's own server on loopback, and a worker that is started and stopped.
import assert from 'node:assert/strict'
import { basename, dirname } from 'node:path'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import { createHttpClient } from '#adapters/http-client/client.ts'
import { createRepositories } from '#adapters/repositories/repositories.ts'
import { type GitServer, serveGit } from '#adapters/repositories/test-git-server.ts'
import { startPolling } from '#engine/polling/polling.ts'
import { credentialAad } from '#model/inventory/sealed-aad.ts'
import { createAddressGuard } from '#platform/addresses/guard.ts'
import { openTestApp, TEST_BASE_URL } from '#test/support/harness.ts'
import { later } from '#test/support/later.ts'
import { makeRepository } from '#test/support/repository.ts'
import type { Closer } from '#test/support/services/service.ts'
import { until } from '#test/support/until.ts'
import { createTestTree } from '#test/support/world.ts'

const t = { after }
const guard = createAddressGuard({ allowTargets: ['127.0.0.0/8'], baseUrl: () => TEST_BASE_URL })
const { db, box, request } = await openTestApp(
  { after: (end: () => Promise<void>) => later(t, end) },
  { guard },
)
const tree = await createTestTree(db)
const { token } = tree.owner
const http = createHttpClient({ guard, userAgent: 'Gantry/test' })
later(t, () => http.close())
const repositories = createRepositories({
  folder: '/nonexistent/mirrors',
  allowRemote: (remote) => guard.check(remote.host!),
})

function startWorker() {
  const worker = startPolling({
    db,
    box,
    readTips: (applicationId, asked) => repositories.readTips(applicationId, { ...asked, http }),
    everyMs: 20,
    onError: (error) => assert.fail(error),
  })
  later(t, () => worker.stop())
  return worker
}

const variables = [
  { name: 'branch', path: 'ref', type: 'string', required: true },
  { name: 'commit', path: 'after', type: 'string', required: true },
]
const SECRET = 'secret-of-the-host'

/** A repository at a host that knows the token, which is that of the application's credential. */
async function openRepository(t: Closer, provider: 'gitea' | 'gitlab' = 'gitea') {
  const repository = await makeRepository(t)
  const first = await repository.commit({ 'a.txt': '1' })
  const server: GitServer = await serveGit(t, {
    folder: dirname(repository.folder),
    password: { username: 'x-access-token', secret: SECRET },
  })
  const address = `${server.url}/${basename(repository.folder)}`
  await db
    .updateTable('credentials')
    .set({
      provider_code: provider,
      base_url: server.url,
      secret: box.seal(SECRET, credentialAad(tree.credentialId)),
    })
    .where('id', '=', tree.credentialId)
    .execute()
  await db
    .updateTable('applications')
    .set({ repository: address })
    .where('id', '=', tree.applicationId)
    .execute()
  return { repository, server, first, address }
}

const create = (settings: object, pipelineId = tree.pipelineId) =>
  request('POST', `/pipelines/${pipelineId}/hooks/incoming`, { token, body: { name: 'Polled', settings } })
const read = async (id: string) => (await request('GET', `/hooks/incoming/${id}`, { token })).body

/** Polls now, and waits until that is done. */
async function poll(id: string) {
  await sql`update hook_polls set due_at = now() - interval '1 second' where hook_id = ${id}`.execute(db)
  await until('the repository was polled', 15_000, async () => {
    const { rows } = await sql`
      select from hook_polls where hook_id = ${id} and due_at > now() + interval '1 second' and leased_until is null`.execute(
      db,
    )
    return rows.length > 0
  })
  return (await read(id)).poll
}

async function callsOf(id: string) {
  const { body } = await request('GET', `/hooks/incoming/${id}/requests`, { token })
  return body.toReversed()
}

startWorker()

suite('a hook that polls its repository', () => {
  test('records the commits at first, and makes one call for each new one', async (t) => {
    const { repository, server, first, address } = await openRepository(t)
    const { body: hook, status, text } = await create({ poll: {}, variables })
    assert.equal(status, 201, text)
    assert.deepEqual(hook.settings.poll, { every_seconds: 60 })
    const polled = await poll(hook.id)
    assert.deepEqual(polled.branches, [{ name: 'main', commit: first, moved_at: null }])
    assert.equal((await callsOf(hook.id)).length, 0)
    await poll(hook.id)
    assert.equal((await callsOf(hook.id)).length, 0)
    const second = await repository.commit({ 'a.txt': '2' })
    await poll(hook.id)
    const [call, ...others] = await callsOf(hook.id)
    assert.equal(others.length, 0)
    assert.equal(call.outcome, 'accepted')
    assert.equal(call.ip_address, null)
    assert.equal(call.url, address)
    const { body: action } = await request('GET', `/actions/${call.action_id}`, { token })
    assert.deepEqual(action.triggered_from.hook_parsed_variables, {
      branch: 'refs/heads/main',
      commit: second,
    })
    const { body: shown } = await request('GET', `/hook-requests/${call.id}`, { token })
    const payload = JSON.parse(shown.request_body)
    assert.deepEqual([payload.before, payload.after, payload.ref], [first, second, 'refs/heads/main'])
    assert.ok(
      server.requests.every((line) => line.startsWith('POST') && line.endsWith('/git-upload-pack')),
      'each poll is one request',
    )
  })

  test('makes a call again when a branch returns to a commit', async (t) => {
    const { repository, first } = await openRepository(t)
    const { body: hook } = await create({ poll: { refs: ['main'] }, variables })
    await poll(hook.id)
    const second = await repository.commit({ 'a.txt': '2' })
    await poll(hook.id)
    for (const commit of [first, second, first]) {
      await repository.branch('main', commit)
      await poll(hook.id)
    }
    const calls = await callsOf(hook.id)
    assert.deepEqual(
      calls.map(({ outcome }: { outcome: string }) => outcome),
      ['accepted', 'accepted', 'accepted', 'accepted'],
    )
    assert.equal(new Set(calls.map((call: { action_id: number }) => call.action_id)).size, 4)
  })

  test('makes no call for deleted branches, and one for a branch that appears after the first poll', async (t) => {
    const { repository, first } = await openRepository(t)
    const { body: hook } = await create({ poll: { refs: ['main', 'next'] }, variables })
    await poll(hook.id)
    await repository.branch('next', first)
    await poll(hook.id)
    const [appeared] = await callsOf(hook.id)
    const { body: shown } = await request('GET', `/hook-requests/${appeared.id}`, { token })
    const payload = JSON.parse(shown.request_body)
    assert.deepEqual([payload.ref, payload.before, payload.after], ['refs/heads/next', '0'.repeat(40), first])
    await repository.removeBranch('next')
    const polled = await poll(hook.id)
    assert.deepEqual(
      polled.branches.map(({ name }: { name: string }) => name),
      ['main', 'next'],
    )
    assert.equal((await callsOf(hook.id)).length, 1)
    const second = await repository.commit({ 'a.txt': '2' })
    await repository.branch('next', second)
    await poll(hook.id)
    assert.equal((await callsOf(hook.id)).length, 3)
  })

  test('makes no call for a branch that is added to the poll later', async (t) => {
    const { repository, first } = await openRepository(t)
    const { body: hook } = await create({ poll: { refs: ['main'] }, variables })
    await poll(hook.id)
    await repository.branch('next', first)
    const settings = { poll: { refs: ['main', 'next'] }, variables }
    await request('PUT', `/hooks/incoming/${hook.id}`, { token, body: { settings } })
    await poll(hook.id)
    assert.equal((await callsOf(hook.id)).length, 0)
  })

  test('starts over, without a call, when the application gets another repository', async (t) => {
    await openRepository(t)
    const { body: hook } = await create({ poll: {}, variables })
    await poll(hook.id)
    const { repository } = await openRepository(t)
    const other = await repository.commit({ 'b.txt': 'another history' })
    const polled = await poll(hook.id)
    assert.deepEqual(polled.branches, [{ name: 'main', commit: other, moved_at: null }])
    assert.equal((await callsOf(hook.id)).length, 0)
  })

  test('says why the repository cannot be read, and continues when it can', async (t) => {
    const { repository } = await openRepository(t)
    const { body: hook } = await create({ poll: {}, variables })
    await poll(hook.id)
    const seal = (secret: string) =>
      db
        .updateTable('credentials')
        .set({ secret: box.seal(secret, credentialAad(tree.credentialId)) })
        .where('id', '=', tree.credentialId)
        .execute()
    await seal('expired')
    const { problem } = await poll(hook.id)
    assert.match(problem, /credential|token|sign in|log in|access/i)
    assert.doesNotMatch(problem, /expired/)
    await repository.commit({ 'a.txt': '2' })
    await seal(SECRET)
    assert.equal((await poll(hook.id)).problem, null)
    assert.equal((await callsOf(hook.id)).length, 1)
  })

  test('continues from the stored commits after a restart, and two workers make one call', async (t) => {
    const { repository } = await openRepository(t)
    const { body: hook } = await create({ poll: {}, variables })
    await poll(hook.id)
    const others = [startWorker(), startWorker()]
    for (const content of ['2', '3', '4']) {
      await repository.commit({ 'a.txt': content })
      await poll(hook.id)
    }
    await Promise.all(others.map((worker) => worker.stop()))
    assert.equal((await callsOf(hook.id)).length, 3)
  })

  test('stops when it is saved without, or is disabled or removed', async (t) => {
    const { server } = await openRepository(t)
    const { body: hook } = await create({ poll: {}, variables })
    await poll(hook.id)
    const change = (body: object) => request('PUT', `/hooks/incoming/${hook.id}`, { token, body })
    await change({ settings: { variables } })
    assert.equal((await read(hook.id)).poll, null)
    await change({ settings: { variables, poll: { every_seconds: 30 } } })
    await poll(hook.id)
    await request('DELETE', `/hooks/incoming/${hook.id}`, { token })
    const asked = server.requests.length
    await sql`update hook_polls set due_at = now() where hook_id = ${hook.id}`.execute(db)
    const { body: other } = await create({ poll: {}, variables })
    await poll(other.id)
    assert.ok(server.requests.length <= asked + 2)
  })
})

suite('polling is refused', () => {
  test('for servers, invalid branches, and variables that such calls do not have', async (t) => {
    await openRepository(t, 'gitlab')
    const server = await create({ poll: {} }, tree.serverPipelineId)
    assert.match(server.body.errors['settings.poll'][0], /hooks of applications/)
    const invalid = await create({ poll: { refs: ['main', 'a..b'] } })
    assert.match(invalid.body.errors['settings.poll.refs.1'][0], /not a valid branch/)
    const lacking = await create({
      poll: {},
      variables: [...variables, { name: 'project', path: 'project_id', type: 'integer', required: true }],
    })
    assert.equal(lacking.status, 422)
    assert.match(lacking.body.errors['settings.variables.2'][0], /no value at project_id .*polls/)
    assert.equal((await create({ poll: { every_seconds: 29 } })).status, 422)
    assert.equal((await create({ poll: { refs: [] } })).status, 422)
  })

  test('together with a connection', async (t) => {
    const { server } = await openRepository(t)
    await db
      .updateTable('applications')
      .set({ repository: `${server.url}/acme/shop.git` })
      .where('id', '=', tree.applicationId)
      .execute()
    const settings = { poll: {}, variables }
    const body = {
      name: 'Both',
      requires_secret: true,
      secret_header_name: 'X-Gitea-Signature',
      settings,
      connect: true,
    }
    const both = await request('POST', `/pipelines/${tree.pipelineId}/hooks/incoming`, { token, body })
    assert.equal(both.status, 422)
    assert.match(both.body.errors['settings.poll'][0], /connection/)
    const { body: hook } = await request('POST', `/pipelines/${tree.pipelineId}/hooks/incoming`, {
      token,
      body: { ...body, connect: false },
    })
    const connect = await request('POST', `/hooks/incoming/${hook.id}/connection`, { token })
    assert.equal(connect.status, 422)
    assert.match(connect.body.errors['settings.poll'][0], /Remove it before/)
  })
})
