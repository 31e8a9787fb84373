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

test('of unique jobs with the same key only the first is added', async (t) => {
  const { queue } = await createTestQueue(t)
  const key = ({ number }: { number: number }) => `key ${number}`
  const add = (numbers: number[]) =>
    queue.db.transaction().execute((trx) =>
      queue.enqueue(
        trx,
        'test.unique',
        numbers.map((number) => ({ number })),
        { key },
      ),
    )
  assert.equal((await add([1, 2])).length, 2)
  assert.equal((await add([2, 3])).length, 1)
})

test('a higher priority goes first', async (t) => {
  const { queue } = await createTestQueue(t)
  await queue.db.transaction().execute(async (trx) => {
    await queue.enqueue(trx, 'test.count', [{ number: 1 }])
    await queue.enqueue(trx, 'test.count', [{ number: 2 }], { priority: 1 })
  })
  const [first] = await queue.boss.fetch('test.count')
  assert.deepEqual(first?.data, { number: 2 })
})

test('the depths distinguish ready, deferred and running jobs', async (t) => {
  const { queue, enqueue } = await createTestQueue(t)
  await enqueue('test.count', 3)
  const startAfter = new Date(Date.now() + 60_000)
  await queue.db
    .transaction()
    .execute((trx) => queue.enqueue(trx, 'test.count', [{ number: 9 }], { startAfter }))
  await queue.boss.fetch('test.count')
  const depths = await readQueueDepths(queue)
  assert.deepEqual(
    depths.find((depth) => depth.job === 'test.count'),
    { job: 'test.count', ready: 2, deferred: 1, active: 1, dead: 0 },
  )
})
