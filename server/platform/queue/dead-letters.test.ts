import assert from 'node:assert/strict'
import test from 'node:test'
import { untilTrue } from '#test/support/until.ts'
import { listDeadLetters } from './dead-letters.ts'
import { readQueueDepths } from './queue-depths.ts'
import { countDeadLetters, createTestQueue } from './test-queue.ts'

test('a dead letter shows what failed and why, and only the field names of its payload', async (t) => {
  const { queue, work, enqueue } = await createTestQueue(t)
  await work({
    'test.count': async () => {
      throw new Error('the disk is full')
    },
  })
  await enqueue('test.count')
  await untilTrue(async () => (await countDeadLetters(queue)) === 1)
  const [letter, ...others] = await listDeadLetters(queue, 10)
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

test('the list is limited, newest first', async (t) => {
  const { queue, work, enqueue } = await createTestQueue(t)
  const fail = async ({ number }: { number: number }) => {
    throw new Error(`failure ${number}`)
  }
  await work({ 'test.count': fail, 'test.hasty': fail })
  await enqueue('test.count', 2)
  await untilTrue(async () => (await countDeadLetters(queue)) === 2)
  await enqueue('test.hasty')
  await untilTrue(async () => (await countDeadLetters(queue)) === 3)
  const listed = await listDeadLetters(queue, 2)
  assert.deepEqual(
    listed.map(({ job }) => job),
    ['test.hasty', 'test.count'],
  )
})
