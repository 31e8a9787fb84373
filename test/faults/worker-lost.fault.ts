import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { createTestQueue } from '#platform/queue/test-queue.ts'

const HANGING_WORKER = fileURLToPath(
  new URL('../../server/platform/queue/test-hanging-worker.ts', import.meta.url),
)

test('the job of a worker killed with -9 runs elsewhere within a minute, with the default timings', async (t) => {
  const { work, enqueue, settings } = await createTestQueue(t)
  await enqueue('test.count')
  const child = spawn(process.execPath, [HANGING_WORKER], {
    env: { SETTINGS: JSON.stringify(settings) },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => child.kill('SIGKILL'))
  await once(child.stdout, 'data')
  const takenOver = Promise.withResolvers<number>()
  await work({ 'test.count': async (_, { attempt }) => takenOver.resolve(attempt) })
  child.kill('SIGKILL')
  const killedAt = performance.now()
  assert.equal(await takenOver.promise, 2)
  const seconds = (performance.now() - killedAt) / 1000
  t.diagnostic(`taken over after ${seconds.toFixed(1)} s`)
  assert.ok(seconds < 60)
})
