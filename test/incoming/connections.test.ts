// Connecting hooks to repositories at stand-ins of GitHub, GitLab and Gitea, which check every request against the shapes that
// the hosts document.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import { moveTo, openConnections, PUSH_EVENT, startHost, TOKEN } from '#test/support/connections.ts'
import { until, untilTrue } from '#test/support/until.ts'
import { createMember, createTestTree } from '#test/support/world.ts'

const world = await openConnections({ after })
const { db, tree, request, createHook, openHost, read, ask, done, removed, pass } = world
const { token } = tree.owner
const URL_OF_HOOK = /^http:\/\/gantry\.test\/hooks\/[\w-]{43}\/trigger$/

world.startWorker()

for (const provider of ['github', 'gitlab', 'gitea'] as const) {
  suite(`a hook of a repository at ${provider}`, () => {
    test('is connected when it is created: the webhook calls it, with its events', async (t) => {
      const host = await openHost(t, provider)
      const hook = await createHook(provider, { connect: true })
      assert.equal(hook.connection.state, 'connecting')
      const connection = await done(hook.id)
      const [webhook, ...others] = host.hooks.webhooks
      assert.equal(others.length, 0)
      const url = 'config' in webhook! ? webhook.config.url : webhook!.url
      assert.equal(url, hook.url)
      assert.match(url, URL_OF_HOOK)
      assert.deepEqual(
        { ...connection, checked_at: typeof connection.checked_at, last_delivery_at: null },
        {
          state: 'connected',
          provider,
          repository: 'acme/shop',
          events: [PUSH_EVENT[provider]],
          settings_url: `${host.url}/acme/shop/${provider === 'gitlab' ? `-/hooks/${webhook!.id}/edit` : `settings/hooks/${webhook!.id}`}`,
          problem: null,
          checked_at: 'string',
          last_delivery_at: null,
          disabled_until: null,
        },
      )
      const push = { ref: 'refs/heads/main', before: '0'.repeat(40), after: 'a'.repeat(40) }
      assert.deepEqual(await host.hooks.push('acme/shop', push), [202])
      assert.notEqual((await read(hook.id)).connection.last_delivery_at, null)
      const calls = db.selectFrom('hook_requests').where('hook_id', '=', hook.id)
      const call = await calls.selectAll().where('outcome', '=', 'accepted').executeTakeFirstOrThrow()
      assert.deepEqual([call.pushed_ref, call.pushed_commit], [push.ref, push.after])
      assert.match(call.delivery_id!, /^[0-9a-f-]{36}$/)
    })

    test('is adopted, not created a second time, when the answer to its creation was lost', async (t) => {
      const host = await openHost(t, provider)
      host.fail({ call: 'create webhook', performed: true, answer: 'reset' })
      const hook = await createHook(provider, { connect: true })
      const lost = await done(hook.id)
      assert.equal(lost.state, 'unreachable')
      await pass(hook.id)
      assert.equal((await done(hook.id)).state, 'connected')
      assert.equal(host.hooks.webhooks.length, 1)
    })

    test('says which permission the token lacks', async (t) => {
      const host = await openHost(t, provider)
      host.permit(TOKEN, 'read')
      const hook = await createHook(provider, { connect: true })
      const { state, problem } = await done(hook.id)
      assert.equal(state, 'forbidden')
      const permission = {
        github: /Webhooks: write.*admin:repo_hook/,
        gitlab: /scope api .*Maintainer/,
        gitea: /write:repository.*administrator/,
      }
      assert.match(problem, permission[provider])
      host.permit(TOKEN, 'revoked')
      await pass(hook.id)
      assert.match((await done(hook.id)).problem, /does not accept the token .*expired/)
      host.permit(TOKEN, 'write')
      assert.equal((await ask(hook.id)).status, 202)
      assert.equal((await done(hook.id)).state, 'connected')
    })

    test('reports what was changed at the host, and changes nothing there until it is repaired', async (t) => {
      const host = await openHost(t, provider)
      const hook = await createHook(provider, { connect: true })
      await done(hook.id)
      host.hooks.webhooks.length = 0
      assert.equal((await ask(hook.id, '/check')).status, 202)
      const missing = await done(hook.id)
      assert.equal(missing.state, 'missing')
      assert.equal(host.hooks.webhooks.length, 0)
      await ask(hook.id)
      assert.equal((await done(hook.id)).state, 'connected')
      assert.equal(host.hooks.webhooks.length, 1)
    })

    test('loses its webhook when it is disconnected, or removed', async (t) => {
      const host = await openHost(t, provider)
      const hook = await createHook(provider, { connect: true })
      await done(hook.id)
      const disconnect = () => request('DELETE', `/hooks/incoming/${hook.id}/connection`, { token })
      assert.equal((await disconnect()).status, 204)
      await removed(hook.id)
      assert.equal(host.hooks.webhooks.length, 0)
      assert.equal((await read(hook.id)).connection, null)
      assert.equal((await disconnect()).status, 409)
      await ask(hook.id)
      await done(hook.id)
      assert.equal(host.hooks.webhooks.length, 1)
      await request('DELETE', `/hooks/incoming/${hook.id}`, { token })
      await removed(hook.id)
      assert.equal(host.hooks.webhooks.length, 0)
    })

    test('keeps a webhook that people let call something else', async (t) => {
      const host = await openHost(t, provider)
      const hook = await createHook(provider, { connect: true })
      await done(hook.id)
      const [webhook] = host.hooks.webhooks
      const settings = 'config' in webhook! ? webhook.config : webhook!
      settings.url = 'https://ci.example.com/build'
      await request('DELETE', `/hooks/incoming/${hook.id}/connection`, { token })
      await removed(hook.id)
      assert.equal(host.hooks.webhooks.length, 1)
    })

    test('follows a repository that was renamed only when a person says so', async (t) => {
      const host = await openHost(t, provider)
      const hook = await createHook(provider, { connect: true })
      await done(hook.id)
      if ('rename' in host) host.rename('acme/shop', 'acme/store')
      else host.move('acme/shop', 'acme/store')
      await pass(hook.id)
      const moved = await done(hook.id)
      assert.equal(moved.state, 'changed')
      assert.match(moved.problem, /renamed or transferred/)
      await moveTo(world, tree, provider, host.url, 'acme/store')
      await pass(hook.id)
      assert.match((await done(hook.id)).problem, /is now acme\/store.*Repair/)
      await ask(hook.id)
      const repaired = await done(hook.id)
      assert.deepEqual([repaired.state, repaired.repository], ['connected', 'acme/store'])
      await removed(hook.id)
      assert.equal(host.hooks.webhooks.length, 1)
    })

    test('is found among 500 webhooks', async (t) => {
      const host = await openHost(t, provider)
      const hook = await createHook(provider, { connect: true })
      await done(hook.id)
      const [ours] = host.hooks.webhooks.splice(0)
      const other = (number: number) => {
        const url = `https://example.com/${number}`
        const more = 'config' in ours! ? { config: { ...ours.config, url } } : { url }
        return { ...ours!, ...more, id: 100_000 + number }
      }
      host.hooks.webhooks.push(...(Array.from({ length: 500 }, (_, number) => other(number)) as never[]))
      host.hooks.webhooks.push(ours as never)
      await ask(hook.id)
      assert.equal((await done(hook.id)).state, 'connected')
      assert.equal(host.hooks.webhooks.length, 501)
    })

    test('waits for the rate limit of its host, and asks nothing meanwhile', async (t) => {
      const host = await openHost(t, provider)
      host.limitTo(0, 60_000)
      const hook = await createHook(provider, { connect: true })
      const waiting = await done(hook.id)
      assert.equal(waiting.state, 'connecting')
      assert.match(waiting.problem, /rate limit/)
      const asked = host.requests.length
      await pass(hook.id)
      await done(hook.id)
      assert.equal(host.requests.length, asked)
      host.unlimited()
      await sql`delete from rate_budgets`.execute(db)
      await pass(hook.id)
      assert.equal((await done(hook.id)).state, 'connected')
    })

    for (const [what, answer] of [
      ['nonsense', { status: 200, body: '<html>' }],
      ['something other than a list', { status: 200, body: { message: 'hello' } }],
      ['a server error', { status: 503, body: {} }],
      ['nothing', 'reset'],
    ] as const)
      test(`is unreachable while the host answers with ${what}, and tried again`, async (t) => {
        const host = await openHost(t, provider)
        host.fail({ answer })
        const hook = await createHook(provider, { connect: true })
        assert.equal((await done(hook.id)).state, 'unreachable')
        await pass(hook.id)
        assert.equal((await done(hook.id)).state, 'connected')
      })
  })
}

suite('a connected hook at GitHub', () => {
  test('is disabled, changed or connected again as people change it there', async (t) => {
    const host = await openHost(t, 'github')
    const hook = await createHook('github', { connect: true })
    await done(hook.id)
    const [webhook] = host.hooks.webhooks
    const check = async () => {
      await pass(hook.id)
      const { state, problem } = await done(hook.id)
      return [state, problem]
    }
    webhook!.active = false
    assert.deepEqual(await check(), ['disabled', 'The webhook is switched off at GitHub.'])
    webhook!.active = true
    webhook!.events = ['issues']
    webhook!.config.insecure_ssl = '1'
    assert.deepEqual(await check(), [
      'changed',
      'The webhook was changed at GitHub: it does not send push; it does not verify the TLS certificate.',
    ])
    webhook!.events = ['push', 'release']
    webhook!.config.insecure_ssl = '0'
    assert.deepEqual(await check(), ['connected', null])
    await ask(hook.id)
    await done(hook.id)
    assert.deepEqual(webhook!.events, ['push', 'release'], 'more events are kept')
  })

  test('gets rid of a second webhook that calls it, and says so before', async (t) => {
    const host = await openHost(t, 'github')
    const hook = await createHook('github', { connect: true })
    await done(hook.id)
    const [webhook] = host.hooks.webhooks
    host.hooks.webhooks.push({ ...webhook!, id: webhook!.id + 500, config: { ...webhook!.config } })
    await pass(hook.id)
    assert.match((await done(hook.id)).problem, /2 webhooks call this hook/)
    await ask(hook.id)
    assert.equal((await done(hook.id)).state, 'connected')
    assert.deepEqual(
      host.hooks.webhooks.map(({ id }) => id),
      [webhook!.id],
    )
  })

  test('leaves webhooks of other hooks and installations alone', async (t) => {
    const host = await openHost(t, 'github')
    const first = await createHook('github', { connect: true })
    await done(first.id)
    const other = { ...host.hooks.webhooks[0]!, id: 1, config: { ...host.hooks.webhooks[0]!.config } }
    other.config.url =
      'https://other-gantry.example.com/hooks/AbCdEfGhIjKlMnOpQrStUvWxYz0123456789abcdefg/trigger'
    host.hooks.webhooks.unshift(other)
    const second = await createHook('github', { connect: true, name: 'Second' })
    await done(second.id)
    assert.equal(host.hooks.webhooks.length, 3)
    await request('DELETE', `/hooks/incoming/${second.id}`, { token })
    await removed(second.id)
    assert.deepEqual(
      host.hooks.webhooks.map(({ config }) => config.url),
      [other.config.url, first.url],
    )
  })

  test('is forbidden when the person who connected it may no longer use the credential', async (t) => {
    const host = await openHost(t, 'github')
    const admin = await createMember(db, tree, 'admin')
    const hook = await createHook('github')
    const connected = await request('POST', `/hooks/incoming/${hook.id}/connection`, { token: admin.token })
    assert.equal(connected.status, 202, connected.text)
    await done(hook.id)
    await db.deleteFrom('grants').where('user_id', '=', admin.id).execute()
    const asked = host.requests.length
    await pass(hook.id)
    const { state, problem } = await done(hook.id)
    assert.equal(state, 'forbidden')
    assert.match(problem, /credential:run/)
    assert.equal(host.requests.length, asked, 'the token is not used')
    await ask(hook.id)
    assert.equal((await done(hook.id)).state, 'connected')
  })

  test('is in the audit log when the host refuses for a day to remove its webhook', async (t) => {
    const host = await openHost(t, 'github')
    const hook = await createHook('github', { connect: true })
    const { settings_url } = await done(hook.id)
    host.permit(TOKEN, 'hidden')
    await request('DELETE', `/hooks/incoming/${hook.id}`, { token })
    const removal = sql`webhook_removals where hook_id = ${hook.id}`
    await untilTrue(async () => {
      const { rows } = await sql<{ failures: number }>`select failures from ${removal}`.execute(db)
      return rows.some(({ failures }) => failures > 0)
    })
    await sql`update webhook_removals set created_at = now() - interval '25 hours' where hook_id = ${hook.id}`.execute(
      db,
    )
    await removed(hook.id)
    const { body } = await request('GET', `/organizations/${tree.organizationId}/audit`, { token })
    const [entry] = body
    assert.equal(entry.verb, 'webhook left behind')
    assert.equal(entry.before.settings_url, settings_url)
    assert.match(entry.after.problem, /does not find acme\/shop/)
  })
})

test('a suspended webhook at GitLab is disabled, and replaced when a person repairs it', async (t) => {
  const host = await startHost(t, 'gitlab')
  await moveTo(world, tree, 'gitlab', host.url)
  const hook = await createHook('gitlab', { connect: true })
  await done(hook.id)
  const [suspended] = host.hooks.webhooks
  host.hooks.deliverTo(async () => 500)
  const push = { ref: 'refs/heads/main', before: '1'.repeat(40), after: '2'.repeat(40) }
  for (let call = 0; call < 4; call++) await host.hooks.push('acme/shop', push)
  await pass(hook.id)
  const { state, disabled_until } = await done(hook.id)
  assert.equal(state, 'disabled')
  assert.equal(disabled_until, suspended!.disabled_until)
  await ask(hook.id)
  assert.equal((await done(hook.id)).state, 'connected')
  assert.equal(host.hooks.webhooks.length, 1)
  assert.notEqual(host.hooks.webhooks[0]!.id, suspended!.id)
})

test('the webhooks of an organization that is removed are removed at the host, and then its token is forgotten', async (t) => {
  const host = await startHost(t, 'github')
  const other = await createTestTree(db)
  await moveTo(world, other, 'github', host.url)
  const hook = await createHook('github', { connect: true }, other)
  await until('it is connected', 15_000, async () => {
    const { rows } =
      await sql`select from hook_connections where hook_id = ${hook.id} and state = 'connected'`.execute(db)
    return rows.length > 0
  })
  const answer = await request('DELETE', `/organizations/${other.organizationId}?cascade=true`, {
    token: other.owner.token,
  })
  assert.equal(answer.status, 204, answer.text)
  await removed(hook.id)
  assert.equal(host.hooks.webhooks.length, 0)
  const credential = db.selectFrom('credentials').select('secret').where('id', '=', other.credentialId)
  assert.equal((await credential.executeTakeFirstOrThrow()).secret, null)
})
