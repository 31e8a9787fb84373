// Connecting hooks to repositories at stand-ins of GitHub, GitLab and Gitea, which check every request against the shapes that
// the hosts document.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import {
  hookFor,
  moveTo,
  openConnections,
  type Provider,
  PUSH_EVENT,
  startHost,
  TOKEN,
} from '#test/support/connections.ts'
import type { Closer } from '#test/support/services/service.ts'
import { untilTrue } from '#test/support/until.ts'
import { createMember, createTestTree } from '#test/support/world.ts'

const world = await openConnections({ after })
const { db, tree, request, createHook, read, ask, done, removed, pass } = world
const { token } = tree.owner
const URL_OF_HOOK = /^http:\/\/gantry\.test\/hooks\/[\w-]{43}\/trigger$/

/** A host with the repository of the application. */
async function open(t: Closer, provider: Provider) {
  const host = await startHost(t, provider)
  await moveTo(world, tree, provider, host.url)
  host.hooks.deliverTo(world.deliver)
  return host
}
async function github(t: Closer) {
  const host = await startHost(t, 'github')
  await moveTo(world, tree, 'github', host.url)
  host.hooks.deliverTo(world.deliver)
  return host
}

world.startWorker()

for (const provider of ['github', 'gitlab', 'gitea'] as const) {
  suite(`a hook of a repository at ${provider}`, () => {
    test('is connected when it is created: the webhook calls it, with its events', async (t) => {
      const host = await open(t, provider)
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
    })

    test('is adopted, not created a second time, when the answer to its creation was lost', async (t) => {
      const host = await open(t, provider)
      host.fail({ call: 'create webhook', performed: true, answer: 'reset' })
      const hook = await createHook(provider, { connect: true })
      const lost = await done(hook.id)
      assert.equal(lost.state, 'unreachable')
      await pass(hook.id)
      assert.equal((await done(hook.id)).state, 'connected')
      assert.equal(host.hooks.webhooks.length, 1)
    })

    test('says which permission the token lacks', async (t) => {
      const host = await open(t, provider)
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
      const host = await open(t, provider)
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
      const host = await open(t, provider)
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

    test('keeps working while its secret is rotated: the host gets the new one', async (t) => {
      const host = await open(t, provider)
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
      const host = await open(t, provider)
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

    test('keeps a webhook that people let call something else', async (t) => {
      const host = await open(t, provider)
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
      const host = await open(t, provider)
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
      const host = await open(t, provider)
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
      const host = await open(t, provider)
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
        const host = await open(t, provider)
        host.fail({ answer })
        const hook = await createHook(provider, { connect: true })
        assert.equal((await done(hook.id)).state, 'unreachable')
        await pass(hook.id)
        assert.equal((await done(hook.id)).state, 'connected')
      })
  })
}

suite('a connected hook at GitHub', () => {
  test('has the ping of GitHub as its first delivery', async (t) => {
    const host = await github(t)
    const hook = await createHook('github', { connect: true })
    await done(hook.id)
    await host.hooks.settled()
    assert.deepEqual(
      host.hooks.deliveries.map(({ event, status_code }) => [event, status_code]),
      [['ping', 200]],
    )
    assert.notEqual((await read(hook.id)).connection.last_delivery_at, null)
  })

  test('is disabled, changed or connected again as people change it there', async (t) => {
    const host = await github(t)
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

  test('keeps what people changed at the host when its secret is rotated', async (t) => {
    const host = await github(t)
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
    const host = await github(t)
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

  test('gets rid of a second webhook that calls it, and says so before', async (t) => {
    const host = await github(t)
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
    const host = await github(t)
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
    const host = await github(t)
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
    const host = await github(t)
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

suite('a hook cannot be connected', () => {
  const refused = async (input: object, at = tree) =>
    request('POST', `/pipelines/${at.pipelineId}/hooks/incoming`, { token: at.owner.token, body: input })

  test('without a secret, or when it expects signatures that the host does not send', async (t) => {
    await github(t)
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
    await github(t)
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
    await github(t)
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
