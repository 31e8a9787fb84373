import assert from 'node:assert/strict'
import test from 'node:test'
import { listDeadLetters, redriveDeadLetters } from './dead-letters.ts'
import { readQueueDepths } from './queue-depths.ts'
import { countDeadLetters, createTestQueue, until } from './test-queue.ts'

test('a dead letter shows what failed and why, and only the field names of its payload', async (t) => {
  const { queue, work, enqueue } = await createTestQueue(t)
  await work({
    'test.count': async () => {
      throw new Error('the disk is full')
    },
  })
  await enqueue('test.count')
  await until(async () => (await countDeadLetters(queue)) === 1)
  const [letter, ...others] = await listDeadLetters(queue, { limit: 10 })
  assert.equal(others.length, 0)
  const { id, enqueued_at, failed_at, ...shown } = letter!
  assert.deepEqual(shown, {
    job: 'test.count',
    payload_keys: ['number'],
    attempts: 3,
    error: 'the disk is full',
  })
  assert.ok(failed_at > enqueued_at)
  const depths = await readQueueDepths(queue)
  assert.equal(depths.find((depth) => depth.job === 'test.count')?.dead, 1)
})

test('the list is limited, newest first, and can be filtered by job', async (t) => {
  const { queue, work, enqueue } = await createTestQueue(t)
  const fail = async ({ number }: { number: number }) => {
    throw new Error(`failure ${number}`)
  }
  await work({ 'test.count': fail, 'test.hasty': fail })
  await enqueue('test.count', 2)
  await until(async () => (await countDeadLetters(queue)) === 2)
  await enqueue('test.hasty')
  await until(async () => (await countDeadLetters(queue)) === 3)
  const [newest] = await listDeadLetters(queue, { limit: 1 })
  assert.equal(newest?.job, 'test.hasty')
  assert.equal((await listDeadLetters(queue, { limit: 10, job: 'test.count' })).length, 2)
})

test('a redriven dead letter runs again at once with all its retries', async (t) => {
  const { queue, work, enqueue } = await createTestQueue(t)
  let broken = true
  const repaired = Promise.withResolvers<number>()
  await work(
    {
      'test.count': async (_, { attempt }) => {
        if (broken) throw new Error('broken')
        repaired.resolve(attempt)
      },
    },
    { pollMs: 60_000 },
  )
  await enqueue('test.count')
  await until(async () => (await countDeadLetters(queue)) === 1)
  broken = false
  assert.equal(await redriveDeadLetters(queue, { job: 'test.count' }), 1)
  assert.equal(await repaired.promise, 1)
  assert.equal(await countDeadLetters(queue), 0)
})
