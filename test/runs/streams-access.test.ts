// Open streams end when access does: over real connections, at two processes, by notification alone.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { hashPassword } from '#platform/crypto/passwords.ts'
import { openTestApp } from '#test/support/harness.ts'
import { createRun, listen, openStream, type TestStream } from '#test/support/streams.ts'
import {
  createAccessToken,
  createMember,
  createPerson,
  createTestTree,
  type Person,
} from '#test/support/world.ts'

// No polling and no regular checks.
const LIVE = { pollMs: 600_000, recheckMs: 600_000, batchMs: 0 }
const first = await openTestApp({ after }, { live: LIVE })
const second = await openTestApp({ after }, { live: LIVE, beside: first })
const { db, request } = first
const PASSWORD = 'correct horse battery'
const passwordHash = await hashPassword(PASSWORD)
const tree = await createTestTree(db)
const admin = await createPerson(db, { admin: true })
const run = await createRun(db, tree)
/** The process that handles the change, and another one. */
const hosts = [await listen(first), await listen(second)]
const members = `/organizations/${tree.organizationId}/members`
const byOwner = { token: tree.owner.token }

/** A stream of one action and one of all actions, at each process. */
async function openStreams(token: string): Promise<TestStream[]> {
  const paths = [`/actions/${run.actionId}/stream`, '/actions/stream']
  const streams = hosts.flatMap((host) => paths.map((path) => openStream(host + path, token)))
  const opened = await Promise.all(streams)
  for (const stream of opened) await stream.until((events) => events.length >= 1)
  return opened
}

/** All end within a second, or a little more on a busy machine. */
async function assertEnded(streams: TestStream[], what: string): Promise<void> {
  const began = performance.now()
  for (const stream of streams) assert.equal(await stream.over, 'ended', what)
  const took = performance.now() - began
  assert.ok(took < 5_000, `${what} took ${Math.round(took)} ms`)
}

async function createViewer(): Promise<Person> {
  const viewer = await createMember(db, tree, 'viewer')
  await db.updateTable('users').set({ password_hash: passwordHash }).where('id', '=', viewer.id).execute()
  return viewer
}

async function succeed(method: string, url: string, options: Parameters<typeof request>[2]): Promise<void> {
  const answer = await request(method, url, options)
  assert.ok(answer.status < 300, `${method} ${url}: ${answer.text}`)
}

suite('all streams of a login end at once', () => {
  const ends: Record<string, (viewer: Person, token: string) => Promise<void>> = {
    'when it signs out': (_, token) => succeed('POST', '/users/logout', { token }),
    'when its session is ended from another one': async (viewer, token) => {
      const { body } = await request('GET', '/users/me/sessions', { token })
      const { id } = body.find(({ current }: { current: boolean }) => current)
      await succeed('DELETE', `/users/me/sessions/${id}`, { token: viewer.token })
    },
    'when all sessions are ended': (viewer) =>
      succeed('POST', '/users/me/sessions/end-all', { token: viewer.token }),
    'when the password is changed elsewhere': (viewer) =>
      succeed('POST', '/users/me/password', {
        token: viewer.token,
        body: { current_password: PASSWORD, new_password: 'another horse' },
      }),
    'when the password is reset': ({ id }) =>
      succeed('POST', `/users/${id}/password-reset`, { token: admin.token }),
    'when the account is deactivated': ({ id }) =>
      succeed('PUT', `/users/${id}`, { token: admin.token, body: { active: false } }),
  }
  for (const [when, end] of Object.entries(ends)) {
    test(when, async () => {
      const viewer = await createViewer()
      const token = await createAccessToken(db, viewer.id)
      const streams = await openStreams(token)
      const bystander = await openStreams((await createViewer()).token)
      await end(viewer, token)
      await assertEnded(streams, when)
      for (const stream of bystander) await stream.cut()
    })
  }
})

test('a revoked personal access token ends its streams, and no others', async () => {
  const viewer = await createViewer()
  const create = { token: viewer.token, body: { name: 'CI' } }
  const { body } = await request('POST', '/users/personal-access-tokens', create)
  const [streams, others] = [await openStreams(body.token), await openStreams(viewer.token)]
  await succeed('DELETE', `/users/personal-access-tokens/${body.id}`, { token: viewer.token })
  await assertEnded(streams, 'revoked')
  await run.print(0, 1, 'still here\n')
  await others[0]!.until((events) => events.some(({ data }) => data.text === 'still here\n'))
  for (const stream of others) await stream.cut()
})

suite('somebody who may see less', () => {
  const changes: Record<string, (viewer: Person) => Promise<void>> = {
    'because they were removed from the organization': ({ id }) =>
      succeed('DELETE', `${members}/${id}`, byOwner),
    'because their grants were replaced': async ({ id }) => {
      const role = { name: `Hooks ${id}`, permissions: ['organization:view', 'hook:view'] }
      const { body } = await request('POST', `/organizations/${tree.organizationId}/roles`, {
        ...byOwner,
        body: role,
      })
      await succeed('PUT', `${members}/${id}`, { ...byOwner, body: { grants: [{ role_id: body.id }] } })
    },
  }
  for (const [why, change] of Object.entries(changes)) {
    test(`loses the stream of an action, and sees nothing of it in others, ${why}`, async () => {
      const viewer = await createViewer()
      const own = await createRun(db, tree)
      const stream = await openStream(`${hosts[1]}/actions/${own.actionId}/stream`, viewer.token)
      const feed = await openStream(`${hosts[1]}/actions/stream`, viewer.token)
      const witness = await openStream(`${hosts[1]}/actions/stream`, tree.owner.token)
      for (const one of [stream, feed, witness]) await one.until((events) => events.length >= 1)
      await change(viewer)
      await assertEnded([stream], why)
      await own.move('failed')
      await witness.until((events) => events.some(({ type }) => type === 'action'))
      await succeed('POST', '/users/me/sessions/end-all', { token: viewer.token })
      await assertEnded([feed], 'the session ended')
      assert.deepEqual(
        feed.events.filter(({ type }) => type === 'action'),
        [],
      )
      await witness.cut()
    })
  }

  test('loses the stream of an action when their custom role is reduced', async () => {
    const roles = `/organizations/${tree.organizationId}/roles`
    const permissions = ['organization:view', 'action:view']
    const role = (await request('POST', roles, { ...byOwner, body: { name: 'Watcher', permissions } })).body
    const viewer = await createViewer()
    await succeed('PUT', `${members}/${viewer.id}`, { ...byOwner, body: { grants: [{ role_id: role.id }] } })
    const stream = await openStream(`${hosts[1]}/actions/${run.actionId}/stream`, viewer.token)
    await stream.until((events) => events.length >= 1)
    await succeed('PUT', `/roles/${role.id}`, { ...byOwner, body: { permissions: ['organization:view'] } })
    await assertEnded([stream], 'the role was reduced')
  })
})
