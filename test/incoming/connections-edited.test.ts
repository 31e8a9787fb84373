// Webhooks that people edit at the host while Gantry gives them a new secret.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import { moveTo, openConnections, type Provider, startHost } from '#test/support/connections.ts'
import type { Closer } from '#test/support/services/service.ts'

const world = await openConnections({ after })
const { db, tree, request, createHook, done, pass, removed } = world
const { token } = tree.owner
world.startWorker()

const THEIRS = 'https://ci.example.com/build'

type Webhook = { id: number; url: string; secret: string | null }

/** A connected hook. Its webhook may be replaced: `webhooks` are those of the host, however that names their settings. */
async function open(t: Closer, provider: Provider) {
  const host = await startHost(t, provider)
  await moveTo(world, tree, provider, host.url)
  host.hooks.deliverTo(world.deliver)
  const hook = await createHook(provider, { connect: true })
  assert.equal((await done(hook.id)).state, 'connected')
  const webhooks = () =>
    host.hooks.webhooks.map((webhook): Webhook => {
      const { id } = webhook
      if ('config' in webhook) return { id, url: webhook.config.url, secret: webhook.config.secret ?? null }
      return { id, url: webhook.url, secret: ('token' in webhook ? webhook.token : webhook.secret) ?? null }
    })
  const edit = (url: string) => {
    const [webhook] = host.hooks.webhooks
    Object.assign('config' in webhook! ? webhook.config : webhook!, { url })
  }
  const rotate = async (overlap_seconds = 60): Promise<string> => {
    const path = `/hooks/incoming/${hook.id}/rotate-secret`
    const answer = await request('POST', path, { token, body: { overlap_seconds } })
    assert.equal(answer.status, 200, answer.text)
    return answer.body.secret
  }
  const push = (after: string) =>
    host.hooks.push('acme/shop', { ref: 'refs/heads/main', before: '1'.repeat(40), after: after.repeat(40) })
  const disconnect = async () => {
    await request('DELETE', `/hooks/incoming/${hook.id}/connection`, { token })
    await removed(hook.id)
  }
  return { host, hook, webhooks, edit, rotate, push, disconnect }
}

for (const provider of ['github', 'gitlab', 'gitea'] as const)
  suite(`a webhook at ${provider} that people let call something else`, () => {
    test('is reported and left as it is, without the new secret, and gets that when it calls the hook again', async (t) => {
      const { hook, webhooks, edit, rotate, push } = await open(t, provider)
      const [before] = webhooks()
      edit(THEIRS)
      const secret = await rotate(1)
      const { state, problem } = await done(hook.id)
      assert.equal(state, 'changed')
      assert.match(problem, /calls another URL/)
      assert.deepEqual(webhooks(), [{ ...before!, url: THEIRS }])
      // Long after the overlap: the host has not confirmed the new one.
      await sql`update hooks set updated_at = now() - interval '1 day' where id = ${hook.id}`.execute(db)
      edit(before!.url)
      assert.deepEqual(await push('2'), [202])
      await pass(hook.id)
      assert.equal((await done(hook.id)).state, 'connected')
      const [webhook, ...others] = webhooks()
      assert.deepEqual([webhook!.url, webhook!.secret, others], [before!.url, secret, []])
      assert.deepEqual(await push('3'), [202])
    })

    test('is theirs, also when Gantry is disconnected before it calls the hook again', async (t) => {
      const { hook, webhooks, edit, rotate, disconnect } = await open(t, provider)
      const [before] = webhooks()
      edit(THEIRS)
      await rotate()
      await done(hook.id)
      await disconnect()
      assert.deepEqual(webhooks(), [{ ...before!, url: THEIRS }])
    })

    test('between two tries to send the secret: the second one leaves it as it is', async (t) => {
      const { host, hook, webhooks, edit, rotate } = await open(t, provider)
      host.fail({ call: 'list webhooks', answer: { status: 502, body: 'Bad gateway' } })
      await rotate()
      assert.equal((await done(hook.id)).state, 'unreachable')
      const [before] = webhooks()
      edit(THEIRS)
      await pass(hook.id)
      assert.equal((await done(hook.id)).state, 'changed')
      assert.deepEqual(webhooks(), [{ ...before!, url: THEIRS }])
    })
  })

suite('a webhook at Gitea that was removed to be created with a new secret', () => {
  test('is created beside one that people have added meanwhile, and theirs stays', async (t) => {
    const { host, hook, webhooks, rotate } = await open(t, 'gitea')
    host.fail({ call: 'create webhook', answer: { status: 502, body: 'Bad gateway' } })
    const [before] = structuredClone(host.hooks.webhooks)
    const secret = await rotate()
    assert.equal((await done(hook.id)).state, 'unreachable')
    assert.deepEqual(webhooks(), [])
    host.hooks.webhooks.push({ ...before!, id: before!.id + 500, url: THEIRS } as never)
    const [theirs] = webhooks()
    await pass(hook.id)
    assert.equal((await done(hook.id)).state, 'connected')
    const [first, ours, ...others] = webhooks()
    assert.deepEqual([first, others], [theirs, []])
    assert.deepEqual([ours!.url, ours!.secret], [hook.url, secret])
  })

  test('is not created a second time when people have created it meanwhile', async (t) => {
    const { host, hook, webhooks, rotate, push } = await open(t, 'gitea')
    host.fail({ call: 'create webhook', answer: { status: 502, body: 'Bad gateway' } })
    const [before] = structuredClone(host.hooks.webhooks)
    const secret = await rotate()
    await done(hook.id)
    const again = { ...before!, id: before!.id + 500, secret: 'entered by hand', branch_filter: 'main' }
    host.hooks.webhooks.push(again as never)
    await pass(hook.id)
    assert.equal((await done(hook.id)).state, 'connected')
    const [webhook, ...others] = webhooks()
    assert.deepEqual([webhook!.url, webhook!.secret, others], [hook.url, secret, []])
    const [stored] = host.hooks.webhooks
    assert.equal(stored && 'branch_filter' in stored && stored.branch_filter, 'main', 'as they created it')
    assert.deepEqual(await push('5'), [202])
  })

  test('is not created beside itself when people change it before Gantry knows that it was created', async (t) => {
    const { host, hook, webhooks, edit, rotate } = await open(t, 'gitea')
    host.fail({ call: 'create webhook', performed: true, answer: 'reset' })
    const secret = await rotate()
    assert.equal((await done(hook.id)).state, 'unreachable')
    edit(THEIRS)
    const [theirs] = webhooks()
    await pass(hook.id)
    assert.equal((await done(hook.id)).state, 'connected')
    const calling = webhooks().filter(({ url }) => url === hook.url)
    assert.deepEqual([calling.length, calling[0]!.secret], [1, secret])
    assert.deepEqual(
      webhooks().find(({ url }) => url === THEIRS),
      theirs,
    )
  })
})
