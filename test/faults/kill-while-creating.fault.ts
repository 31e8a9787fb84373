import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ADMIN_ENVIRONMENT, call, logInAsAdmin, startGantry, temporaryHome } from '#test/support/process.ts'

const ROUNDS = 3
const CREATIONS = 200
const AT_ONCE = 8

test('every hook whose creation was acknowledged survives kill -9, and none is incomplete', async (t) => {
  const home = await temporaryHome(t)
  const environment = { GANTRY_HOME: home, ...ADMIN_ENVIRONMENT }
  const promised = new Map<string, { url: string; name: string }>()

  for (let round = 0; round < ROUNDS; round += 1) {
    const gantry = await startGantry(t, environment)
    const token = await logInAsAdmin(gantry)
    let created = 0
    let killing: Promise<void> | undefined
    const killAt = 40 + round * 45
    const create = async (number: number) => {
      const name = `Round ${round} hook ${number}`
      const body = { name, requires_secret: true }
      const answer = await call(gantry, 'POST', '/pipelines/1/hooks/incoming', { token, body }).catch(
        () => undefined,
      )
      if (answer?.status !== 201) return
      promised.set(answer.body.id, { url: answer.body.url.replace(/^https?:\/\/[^/]+/, ''), name })
      created += 1
      if (created >= killAt) killing ??= gantry.kill()
    }
    let next = 0
    const createUntilKilled = async () => {
      while (next < CREATIONS && !killing) await create(next++)
    }
    await Promise.all(Array.from({ length: AT_ONCE }, createUntilKilled))
    await killing
    assert.ok(killing, 'the process was killed in the middle')

    const survivor = await startGantry(t, environment)
    const list = await call(survivor, 'GET', '/pipelines/1/hooks', { token: await logInAsAdmin(survivor) })
    const stored = new Map<string, { url: string; secret: string; name: string }>(
      list.body.map((hook: { id: string; url: string; secret: string; name: string }) => [hook.id, hook]),
    )
    for (const [id, hook] of promised) {
      assert.equal(stored.get(id)?.name, hook.name)
      assert.ok(stored.get(id)?.url.endsWith(hook.url))
    }
    for (const hook of stored.values()) assert.equal(hook.secret, '********')
    const unanswered = stored.size - promised.size
    assert.ok(unanswered >= 0 && unanswered <= AT_ONCE, `${unanswered} stored but not answered`)
    t.diagnostic(`round ${round + 1}: ${promised.size} answered, ${stored.size} stored`)
    // The pipeline takes 200 hooks: make room for the next round.
    const cleaner = await logInAsAdmin(survivor)
    await Promise.all(
      [...stored.keys()].map((id) => call(survivor, 'DELETE', `/hooks/incoming/${id}`, { token: cleaner })),
    )
    promised.clear()
    assert.equal(await survivor.stop(), 0)
  }
})
