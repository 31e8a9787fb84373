import assert from 'node:assert/strict'
import test from 'node:test'
import { createTestDatabase } from '#test/support/database.ts'
import { jobs } from './jobs.ts'
import { installQueue, openQueue } from './open-queue.ts'

test('four processes that start together install one queue', async (t) => {
  const database = await createTestDatabase({ empty: true })
  await Promise.all([1, 2, 3, 4].map(() => installQueue(database.settings)))
  const queue = await openQueue({ settings: database.settings, onError: () => {} })
  t.after(async () => {
    await queue.close()
    await database.drop()
  })
  const names = (await queue.boss.getQueues()).map((one) => one.name)
  assert.deepEqual(names.sort(), ['dead-letters', ...Object.keys(jobs)].sort())
})

test('installing again updates the settings of an existing queue', async (t) => {
  const database = await createTestDatabase({ empty: true })
  await installQueue(database.settings)
  await installQueue(database.settings, { 'queue.probe': { ...jobs['queue.probe'], retryLimit: 7 } })
  const queue = await openQueue({ settings: database.settings, onError: () => {} })
  t.after(async () => {
    await queue.close()
    await database.drop()
  })
  assert.equal((await queue.boss.getQueue('queue.probe'))?.retryLimit, 7)
})
