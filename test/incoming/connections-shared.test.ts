// Two installations of Gantry with hooks of the same repository: each knows only its own webhook.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { moveTo, openConnections, type Provider, type Shown, startHost } from '#test/support/connections.ts'
import type { Closer } from '#test/support/services/service.ts'
import type { Deliver } from '#test/support/services/webhooks.ts'

// Both have the same address, as if one had been copied: only the last part of a hook's URL tells their webhooks apart.
const [ours, theirs] = [await openConnections({ after }), await openConnections({ after })]
for (const { startWorker } of [ours, theirs]) startWorker()

/** A hook belongs to one of them; the other one does not know its URL. */
const deliver: Deliver = async (call) => {
  const status = await ours.deliver(call)
  return status === 404 ? theirs.deliver(call) : status
}

/** A repository that both have connected a hook to. */
async function open(t: Closer, provider: Provider) {
  const host = await startHost(t, provider)
  host.hooks.deliverTo(deliver)
  const hooks: Shown[] = []
  for (const world of [ours, theirs]) {
    await moveTo(world, world.tree, provider, host.url)
    const hook = await world.createHook(provider, { connect: true })
    assert.equal((await world.done(hook.id)).state, 'connected')
    hooks.push(hook)
  }
  const [our, their] = hooks
  const webhookOf = ({ url }: Shown) =>
    host.hooks.webhooks.filter((webhook) => ('config' in webhook ? webhook.config.url : webhook.url) === url)
  const push = (after: string) =>
    host.hooks.push('acme/shop', { ref: 'refs/heads/main', before: '1'.repeat(40), after: after.repeat(40) })
  const ask = (method: string, path: string) =>
    ours.request(method, `/hooks/incoming/${our.id}${path}`, { token: ours.tree.owner.token })
  return { host, our, their, webhookOf, push, ask }
}

for (const provider of ['github', 'gitlab', 'gitea'] as const)
  suite(`two installations with hooks of a repository at ${provider}`, () => {
    test('each have a webhook, and a push starts one run in each', async (t) => {
      const { host, our, their, webhookOf, push } = await open(t, provider)
      assert.equal(host.hooks.webhooks.length, 2)
      assert.deepEqual([webhookOf(our).length, webhookOf(their).length], [1, 1])
      assert.deepEqual(await push('2'), [202, 202])
    })

    test('leave the other one alone when they check, repair, rotate, disconnect and connect again', async (t) => {
      const { host, our, their, webhookOf, push, ask } = await open(t, provider)
      const before = structuredClone(webhookOf(their))
      const assertUntouched = async (own: number) => {
        assert.deepEqual(webhookOf(their), before)
        assert.deepEqual([webhookOf(our).length, host.hooks.webhooks.length], [own, own + 1])
        await theirs.pass(their.id)
        assert.equal((await theirs.done(their.id)).state, 'connected')
      }
      for (const path of ['/connection/check', '/connection']) {
        assert.equal((await ask('POST', path)).status, 202)
        assert.equal((await ours.done(our.id)).state, 'connected')
        await assertUntouched(1)
      }
      const [old] = structuredClone(webhookOf(our))
      assert.equal((await ask('POST', '/rotate-secret')).status, 200)
      assert.equal((await ours.done(our.id)).state, 'connected')
      assert.notDeepEqual(webhookOf(our), [old], 'the host has another secret')
      await assertUntouched(1)
      assert.deepEqual(await push('3'), [202, 202])

      assert.equal((await ask('DELETE', '/connection')).status, 204)
      await ours.removed(our.id)
      await assertUntouched(0)
      assert.deepEqual(await push('4'), [202])

      assert.equal((await ask('POST', '/connection')).status, 202)
      assert.equal((await ours.done(our.id)).state, 'connected')
      await assertUntouched(1)
      assert.deepEqual(await push('5'), [202, 202])
    })

    test('do not adopt the webhook of the other one when their own was deleted', async (t) => {
      const { host, our, their, webhookOf, ask } = await open(t, provider)
      const before = structuredClone(webhookOf(their))
      host.hooks.webhooks.splice(host.hooks.webhooks.indexOf(webhookOf(our)[0]! as never), 1)
      await ours.pass(our.id)
      assert.equal((await ours.done(our.id)).state, 'missing')
      await ask('POST', '/connection')
      assert.equal((await ours.done(our.id)).state, 'connected')
      assert.deepEqual(webhookOf(their), before)
      assert.equal(host.hooks.webhooks.length, 2)
    })
  })
