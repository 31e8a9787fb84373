// A home made by the code before the newest migration: what it set up, ran and made live is there, and continues.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { ADMIN_ENVIRONMENT, call, logInAsAdmin, startGantry, temporaryHome } from '#test/support/process.ts'
import { until } from '#test/support/until.ts'
import { provideBeforeMigration } from './release-before.ts'

// biome-ignore lint/suspicious/noExplicitAny: tests read responses of every shape
type Json = any

const environment = { GANTRY_HOME: await temporaryHome({ after }), ...ADMIN_ENVIRONMENT }

/** Runs the sample to its end, and returns the run. */
async function runSample(url: string, token: string): Promise<Json> {
  const started = await call({ url }, 'POST', '/pipelines/1/actions', { token, body: {} })
  assert.equal(started.status, 201, JSON.stringify(started.body))
  return until('the run has ended', 60_000, async () => {
    const { body } = await call({ url }, 'GET', `/actions/${started.body.id}`, { token })
    return body.completed_at !== null && body
  })
}

test('a home of the previous code opens, keeps what it holds, and works on', async (t) => {
  const before = await startGantry(t, environment, undefined, await provideBeforeMigration(t))
  const old = { url: before.url!, token: await logInAsAdmin(before) }
  const first = await runSample(old.url, old.token)
  assert.equal(first.status, 'completed')
  const hook = await call(old, 'POST', '/pipelines/1/hooks/incoming', {
    token: old.token,
    body: { name: 'Push', requires_secret: false },
  })
  assert.equal(hook.status, 201)
  assert.equal(await before.stop(), 0)

  const now = await startGantry(t, environment)
  const token = await logInAsAdmin(now)
  const get = async (path: string): Promise<Json> => {
    const { status, body } = await call(now, 'GET', path, { token })
    assert.equal(status, 200, path)
    return body
  }
  const kept = await get(`/actions/${first.id}`)
  assert.deepEqual([kept.status, kept.action_data.commit], [first.status, first.action_data.commit])
  const [live] = await get('/applications/1/live')
  assert.deepEqual([live.state, live.action.id], ['known', first.id])
  for (const path of ['/overview', '/actions', '/names?type=pipeline', '/servers/1', '/applications/1'])
    await get(path)

  const called = await call(now, 'POST', new URL(hook.body.url).pathname, { body: {} })
  assert.equal(called.status, 202, JSON.stringify(called.body))
  const second = await runSample(now.url!, token)
  assert.equal(second.status, 'completed')
  assert.equal((await get('/applications/1/live'))[0].action.id, second.id)
  assert.equal(await now.stop(), 0)
})
