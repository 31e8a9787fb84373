import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import { openTestApp } from '#test/support/harness.ts'

test('parts that take minutes to start, on a slow machine or database, do not end the process', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.after(() => mock.timers.reset())
  const { request } = await openTestApp(t, {
    async routes() {
      mock.timers.tick(300_000)
    },
  })
  const { status } = await request('GET', '/healthz')
  assert.equal(status, 200)
})
