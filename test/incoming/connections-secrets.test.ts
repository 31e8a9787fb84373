// The secrets of connected hooks: rotations that the host has to learn of, and calls that are signed with another one.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import { claimConnections } from '#engine/connecting/claim.ts'
import { storeResult } from '#engine/connecting/store.ts'
import { moveTo, openConnections, startHost } from '#test/support/connections.ts'

const world = await openConnections({ after })
const { db, tree, request, createHook, openHost, ask, done, removed, pass } = world
const { token } = tree.owner

let worker = world.startWorker()

for (const provider of ['github', 'gitlab', 'gitea'] as const) {
  suite(`a hook of a repository at ${provider}`, () => {
    test('keeps working while its secret is rotated: the host gets the new one', async (t) => {
      const host = await openHost(t, provider)
      const hook = await createHook(provider, { connect: true })
      await done(hook.id)
      const secretAtHost = () => {
        const [webhook] = host.hooks.webhooks
        return 'config' in webhook!
          ? webhook.config.secret
          : 'token' in webhook!
            ? webhook.token
            : webhook!.secret
      }
      assert.equal(secretAtHost(), hook.secret)
      host.fail({ answer: { status: 502, body: 'Bad gateway' } })
      const rotated = await request('POST', `/hooks/incoming/${hook.id}/rotate-secret`, {
        token,
        body: { overlap_seconds: 1 },
      })
      assert.equal((await done(hook.id)).state, 'unreachable')
      const push = (after: string) =>
        host.hooks.push('acme/shop', { ref: 'refs/heads/main', before: '1'.repeat(40), after })
      // Long after the overlap: the host has not confirmed the new one.
      await sql`update hooks set updated_at = now() - interval '1 day' where id = ${hook.id}`.execute(db)
      assert.deepEqual(await push('2'.repeat(40)), [202])
      await pass(hook.id)
      assert.equal((await done(hook.id)).state, 'connected')
      assert.equal(host.hooks.webhooks.length, 1)
      assert.equal(secretAtHost(), rotated.body.secret)
      assert.deepEqual(await push('3'.repeat(40)), [202])
      const { rows } = await sql<{ minutes: number }>`
        select extract(epoch from previous_secret_until - now()) / 60 as minutes from hooks where id = ${hook.id}`.execute(
        db,
      )
      assert.ok(rows[0]!.minutes <= 5, 'the previous secret ends soon after the host has the new one')
    })

    test('accepts a replaced secret no longer than its rotation said, once it is disconnected', async (t) => {
      const host = await openHost(t, provider)
      const hook = await createHook(provider, { connect: true })
      await done(hook.id)
      host.fail({ answer: { status: 502, body: 'Bad gateway' } })
      const body = { overlap_seconds: 60 }
      await request('POST', `/hooks/incoming/${hook.id}/rotate-secret`, { token, body })
      assert.equal((await done(hook.id)).state, 'unreachable')
      await request('DELETE', `/hooks/incoming/${hook.id}/connection`, { token })
      const { rows } = await sql<{ seconds: number }>`
        select extract(epoch from previous_secret_until - now()) as seconds from hooks where id = ${hook.id}`.execute(
        db,
      )
      assert.ok(rows[0]!.seconds <= 60, String(rows[0]!.seconds))
      await removed(hook.id)
    })
  })
}

suite('a connected hook at GitHub', () => {
  test('keeps what people changed at the host when its secret is rotated', async (t) => {
    const host = await openHost(t, 'github')
    const hook = await createHook('github', { connect: true })
    await done(hook.id)
    const [webhook] = host.hooks.webhooks
    webhook!.active = false
    const rotated = await request('POST', `/hooks/incoming/${hook.id}/rotate-secret`, { token })
    assert.equal((await done(hook.id)).state, 'disabled')
    assert.equal(webhook!.active, false)
    assert.equal(webhook!.config.secret, rotated.body.secret)
  })

  test('is changed when GitHub signs with another secret, and not when another sender does', async (t) => {
    const host = await openHost(t, 'github')
    const hook = await createHook('github', { connect: true })
    await done(hook.id)
    await host.hooks.settled()
    const forge = () =>
      request('POST', new URL(hook.url).pathname, {
        body: {},
        headers: { 'x-hub-signature-256': `sha256=${'0'.repeat(64)}` },
      })
    assert.equal((await forge()).status, 403)
    const checked = await done(hook.id)
    assert.equal(checked.state, 'connected')
    const asked = host.requests.length
    await forge()
    assert.equal((await done(hook.id)).checked_at, checked.checked_at, 'at most every 15 minutes')
    assert.equal(host.requests.length, asked)

    await sql`update hook_connections set rejected_at = now() - interval '16 minutes'`.execute(db)
    host.hooks.webhooks[0]!.config.secret = 'someone entered another one'
    const push = { ref: 'refs/heads/main', before: '1'.repeat(40), after: '2'.repeat(40) }
    assert.deepEqual(await host.hooks.push('acme/shop', push), [403])
    const changed = await done(hook.id)
    assert.equal(changed.state, 'changed')
    assert.match(changed.problem, /another secret/)
    await pass(hook.id)
    assert.equal((await done(hook.id)).state, 'changed', 'until it is repaired')
    await ask(hook.id)
    assert.equal((await done(hook.id)).state, 'connected')
    assert.deepEqual(await host.hooks.push('acme/shop', push), [202])
  })
})

test('a webhook at Gitea keeps its branch filter when its secret is rotated', async (t) => {
  const host = await startHost(t, 'gitea')
  await moveTo(world, tree, 'gitea', host.url)
  const hook = await createHook('gitea', { connect: true })
  await done(hook.id)
  host.hooks.webhooks[0]!.branch_filter = 'main'
  host.hooks.webhooks[0]!.events = ['push', 'release']
  const rotated = await request('POST', `/hooks/incoming/${hook.id}/rotate-secret`, { token })
  await done(hook.id)
  const [webhook] = host.hooks.webhooks
  assert.deepEqual(
    [webhook!.secret, webhook!.branch_filter, webhook!.events, host.hooks.webhooks.length],
    [rotated.body.secret, 'main', ['push', 'release'], 1],
  )
})

test('a rotation at Gitea that ends between removing the webhook and creating it is continued', async (t) => {
  const host = await startHost(t, 'gitea')
  await moveTo(world, tree, 'gitea', host.url)
  const hook = await createHook('gitea', { connect: true })
  await done(hook.id)
  host.hooks.webhooks[0]!.branch_filter = 'main'
  host.hooks.webhooks[0]!.events = ['push', 'release']
  host.fail({ call: 'create webhook', answer: { status: 502, body: 'Bad gateway' } })
  const rotated = await request('POST', `/hooks/incoming/${hook.id}/rotate-secret`, { token })
  assert.equal((await done(hook.id)).state, 'unreachable')
  assert.equal(host.hooks.webhooks.length, 0)
  await pass(hook.id)
  assert.equal((await done(hook.id)).state, 'connected')
  const [webhook, ...others] = host.hooks.webhooks
  assert.deepEqual(
    [webhook!.secret, webhook!.branch_filter, webhook!.events, others],
    [rotated.body.secret, 'main', ['push', 'release'], []],
  )
  host.hooks.webhooks.length = 0
  await request('POST', `/hooks/incoming/${hook.id}/rotate-secret`, { token })
  assert.equal((await done(hook.id)).state, 'missing', 'people deleted this one')
})

suite('secrets', () => {
  const push = { ref: 'refs/heads/main', before: '1'.repeat(40), after: '2'.repeat(40) }
  const away = { answer: { status: 502, body: 'Bad gateway' } }
  const rotate = (id: string, overlap_seconds: number) =>
    request('POST', `/hooks/incoming/${id}/rotate-secret`, { token, body: { overlap_seconds } })

  test('the one that the host still uses stays valid through two rotations', async (t) => {
    const host = await openHost(t, 'github')
    const hook = await createHook('github', { connect: true })
    await done(hook.id)
    host.fail(away, away)
    await rotate(hook.id, 1)
    assert.equal((await done(hook.id)).state, 'unreachable')
    await rotate(hook.id, 1)
    assert.equal((await done(hook.id)).state, 'unreachable')
    await sql`update hooks set updated_at = now() - interval '1 day' where id = ${hook.id}`.execute(db)
    assert.deepEqual(await host.hooks.push('acme/shop', push), [202])
    await pass(hook.id)
    assert.equal((await done(hook.id)).state, 'connected')
    assert.deepEqual(await host.hooks.push('acme/shop', { ...push, after: '3'.repeat(40) }), [202])
  })

  test('the one that the host was sent while the next was made is valid until it has that', async (t) => {
    const host = await openHost(t, 'github')
    const hook = await createHook('github', { connect: true })
    await done(hook.id)
    await worker.stop()
    await rotate(hook.id, 60)
    const { rows } = await sql<{ secret: Buffer }>`select secret from hooks where id = ${hook.id}`.execute(db)
    const claims = claimConnections(db, [])
    const claimed = (await claims).find(({ hookId }) => hookId === hook.id)!
    const { body: second } = await rotate(hook.id, 60)
    const finding = {
      state: 'connected' as const,
      problem: null,
      webhookId: claimed.webhookId,
      disabledUntil: null,
    }
    await storeResult(db, claimed, {
      finding,
      isDone: true,
      failures: 0,
      hasOtherSecret: false,
      sentSecret: rows[0]!.secret,
      credentialId: claimed.credentialId,
      afterMs: 3_600_000,
    })
    const kept = await sql<{ previous: Buffer }>`
      select previous_secret as previous from hooks where id = ${hook.id}`.execute(db)
    assert.deepEqual(kept.rows[0]!.previous, rows[0]!.secret)
    worker = world.startWorker()
    assert.equal((await done(hook.id)).state, 'connected')
    assert.equal(host.hooks.webhooks[0]!.config.secret, second.secret)
  })

  test('without an overlap the previous one ends at once, also when another rotation waits for the host', async (t) => {
    const host = await openHost(t, 'github')
    const hook = await createHook('github', { connect: true })
    await done(hook.id)
    host.fail(away, away)
    await rotate(hook.id, 60)
    await done(hook.id)
    await rotate(hook.id, 0)
    await done(hook.id)
    assert.deepEqual(await host.hooks.push('acme/shop', push), [403])
  })
})
