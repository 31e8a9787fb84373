import assert from 'node:assert/strict'
import test from 'node:test'
import { sql } from 'kysely'
import type { Attempt } from './core.ts'
import { completeInTransaction, finishJobs, holdAttempt } from './fence.ts'
import { handBack } from './hand-back.ts'
import { createTestQueue, type TestQueue, until } from './test-queue.ts'

/** Two attempts of one job: the second has taken it over from the first. */
async function takenOver(t: TestQueue): Promise<{ stale: Attempt; current: Attempt }> {
  await t.enqueue('test.count')
  const [stale] = await t.queue.boss.fetch('test.count')
  await handBack(t.queue, 'test.count', [stale!])
  const [current] = await t.queue.boss.fetch('test.count')
  assert.equal(current!.id, stale!.id)
  return { stale: stale!, current: current! }
}

test('completion, failure and return by a stale attempt touch nothing', async (t) => {
  const test = await createTestQueue(t)
  const { stale, current } = await takenOver(test)
  assert.deepEqual(await finishJobs(test.queue, 'test.count', [stale]), [])
  assert.deepEqual(await handBack(test.queue, 'test.count', [stale]), [])
  await test.queue.boss.fail('test.count', stale)
  assert.deepEqual(await finishJobs(test.queue, 'test.count', [current]), [current.id])
})

test('a stale attempt cannot write under the fence', async (t) => {
  const test = await createTestQueue(t)
  const { stale, current } = await takenOver(test)
  const { db } = test.queue
  const lost = { name: 'AttemptLostError' }
  await assert.rejects(
    db.transaction().execute((trx) => holdAttempt(trx, 'test.count', stale)),
    lost,
  )
  await assert.rejects(
    db.transaction().execute((trx) => completeInTransaction(test.queue, trx, 'test.count', stale)),
    lost,
  )
  await db.transaction().execute((trx) => holdAttempt(trx, 'test.count', current))
})

test('what a handler writes is undone when its attempt was lost meanwhile', async (t) => {
  const { queue, work, enqueue, logged } = await createTestQueue(t)
  await sql`create table effects (attempt int)`.execute(queue.db)
  const retried = Promise.withResolvers<void>()
  await work(
    {
      'test.count': async (_, context) => {
        if (context.attempt === 1) await sql`update queue.job set state = 'retry'`.execute(queue.db)
        await queue.db.transaction().execute(async (trx) => {
          await sql`insert into effects values (${context.attempt})`.execute(trx)
          await context.complete(trx)
        })
        retried.resolve()
      },
    },
    { pollMs: 50 },
  )
  await enqueue('test.count')
  await retried.promise
  const { rows } = await sql<{ attempt: number }>`select attempt from effects`.execute(queue.db)
  assert.deepEqual(rows, [{ attempt: 2 }])
  await until(() => logged.some((line) => line.outcome === 'lost' && line.attempt === 1))
})

test('an attempt that lost its job learns it by its signal', async (t) => {
  const { queue, work, enqueue } = await createTestQueue(t)
  const lost = Promise.withResolvers<unknown>()
  await work(
    {
      'test.count': async (_, { attempt, signal }) => {
        if (attempt > 1) return
        await sql`update queue.job set state = 'retry'`.execute(queue.db)
        signal.addEventListener('abort', () => lost.resolve(signal.reason))
        await lost.promise
      },
    },
    { beatMs: 20 },
  )
  await enqueue('test.count')
  assert.match(String(await lost.promise), /taken the job over/)
})
