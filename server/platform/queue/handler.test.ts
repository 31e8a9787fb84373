import assert from 'node:assert/strict'
import test from 'node:test'
import { sql } from 'kysely'
import type { Attempt } from './core.ts'
import { completeJobs, createContext } from './handler.ts'
import { createTestQueue, type TestQueue, until } from './test-queue.ts'
import { handBack } from './write-outcomes.ts'

/** Two attempts of one job, which was reassigned from the first to the second. */
async function reassign(t: TestQueue): Promise<{ stale: Attempt; current: Attempt }> {
  await t.enqueue('test.count')
  const [stale] = await t.queue.boss.fetch('test.count')
  await handBack(t.queue, 'test.count', [stale!])
  const [current] = await t.queue.boss.fetch('test.count')
  assert.equal(current!.id, stale!.id)
  return { stale: stale!, current: current! }
}

test('a stale attempt can neither complete, fail nor hand back the job', async (t) => {
  const test = await createTestQueue(t)
  const { stale, current } = await reassign(test)
  assert.deepEqual(await completeJobs(test.queue, 'test.count', [stale]), [])
  assert.deepEqual(await handBack(test.queue, 'test.count', [stale]), [])
  await test.queue.boss.fail('test.count', stale)
  assert.deepEqual(await completeJobs(test.queue, 'test.count', [current]), [current.id])
})

test('a stale attempt cannot hold or complete the job', async (t) => {
  const test = await createTestQueue(t)
  const { stale, current } = await reassign(test)
  const { db } = test.queue
  const lost = { name: 'AttemptLostError' }
  const context = (attempt: Attempt) =>
    createContext(test.queue, 'test.count', attempt, new AbortController().signal, {
      onComplete() {},
      isDraining: () => false,
    })
  await assert.rejects(db.transaction().execute(context(stale).hold), lost)
  await assert.rejects(db.transaction().execute(context(stale).complete), lost)
  await db.transaction().execute(context(current).hold)
})

test('the writes of a handler roll back when its attempt was lost meanwhile', async (t) => {
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

test('the signal of an attempt that lost its job aborts', async (t) => {
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
    { heartbeatMs: 20 },
  )
  await enqueue('test.count')
  assert.match(String(await lost.promise), /reassigned to another worker/)
})
