import assert from 'node:assert/strict'
import test from 'node:test'
import { InvalidPayloadError } from './jobs.ts'
import { readQueueDepths } from './queue-depths.ts'
import { createTestQueue } from './test-queue.ts'

test('jobs of a transaction that rolls back are not enqueued', async (t) => {
  const { queue } = await createTestQueue(t)
  const rolledBack = queue.db.transaction().execute(async (trx) => {
    await queue.enqueue(trx, 'test.count', [{ number: 1 }])
    throw new Error('rolled back')
  })
  await assert.rejects(rolledBack, /rolled back/)
  assert.equal((await queue.boss.findJobs('test.count')).length, 0)
})

test('one invalid payload rejects the whole batch', async (t) => {
  const { queue } = await createTestQueue(t)
  await queue.db.transaction().execute(async (trx) => {
    const wrong = { number: 1.5 }
    await assert.rejects(queue.enqueue(trx, 'test.count', [{ number: 1 }, wrong]), InvalidPayloadError)
  })
  assert.equal((await queue.boss.findJobs('test.count')).length, 0)
})

test('the depths distinguish ready, deferred and running jobs', async (t) => {
  const { queue, enqueue } = await createTestQueue(t)
  await enqueue('test.count', 3)
  await queue.boss.insert('test.count', [{ data: { number: 9 }, startAfter: 60 }])
  await queue.boss.fetch('test.count')
  const depths = await readQueueDepths(queue)
  assert.deepEqual(
    depths.find((depth) => depth.job === 'test.count'),
    { job: 'test.count', ready: 2, deferred: 1, active: 1, dead: 0 },
  )
})
