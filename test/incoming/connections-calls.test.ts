// What is stored and remembered of the calls of connected hooks.
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import { openConnections } from '#test/support/connections.ts'

const { db, tree, request, createHook, openHost, read, done, startWorker } = await openConnections({ after })
const { token } = tree.owner

startWorker()

test('calls of connected hooks are stored as they came, also many at a time', async (t) => {
  const host = await openHost(t, 'github')
  const hook = await createHook('github', { connect: true })
  await done(hook.id)
  const commits = Array.from({ length: 20 }, (_, n) => String(n).padStart(40, '0'))
  const push = (after: string) =>
    host.hooks.push('acme/shop', {
      ref: `refs/heads/${'é'.repeat(Number(after))}`,
      before: commits[0]!,
      after,
    })
  await Promise.all(commits.map(push))
  const { body: calls } = await request('GET', `/hooks/incoming/${hook.id}/requests?per_page=100`, { token })
  const bodies = calls.map(({ id }: { id: string }) => request('GET', `/hook-requests/${id}`, { token }))
  const stored = (await Promise.all(bodies)).map(({ body }) => JSON.parse(body.request_body))
  assert.deepEqual(
    stored
      .filter(({ ref }) => ref)
      .map(({ after, ref }) => [after, ref.length])
      .toSorted(),
    commits.map((after, n) => [after, 'refs/heads/'.length + n]),
  )
})

suite('a connected hook at GitHub', () => {
  test('recognizes a delivery for eight days, unless its body is another one', async (t) => {
    await openHost(t, 'github')
    const hook = await createHook('github', { connect: true })
    await done(hook.id)
    const sent = (body: object) => {
      const rawBody = JSON.stringify(body)
      const signature = createHmac('sha256', hook.secret).update(rawBody).digest('hex')
      const headers = { 'x-github-delivery': 'one', 'x-hub-signature-256': `sha256=${signature}` }
      return request('POST', new URL(hook.url).pathname, { rawBody, headers })
    }
    const pass = (interval: string) =>
      sql`update delivery_claims set claimed_at = claimed_at - ${interval}::interval where hook_id = ${hook.id}`.execute(
        db,
      )
    assert.equal((await sent({ a: 1 })).status, 202)
    await pass('7 days 23 hours')
    assert.equal((await sent({ a: 1 })).status, 200)
    assert.equal((await sent({ a: 2 })).status, 202)
    await pass('2 hours')
    assert.equal((await sent({ a: 1 })).status, 202)
  })

  test('has the ping of GitHub as its first delivery', async (t) => {
    const host = await openHost(t, 'github')
    const hook = await createHook('github', { connect: true })
    await done(hook.id)
    await host.hooks.settled()
    assert.deepEqual(
      host.hooks.deliveries.map(({ event, status_code }) => [event, status_code]),
      [['ping', 200]],
    )
    assert.notEqual((await read(hook.id)).connection.last_delivery_at, null)
  })
})
