import assert from 'node:assert/strict'
import test from 'node:test'
import { sql } from 'kysely'
import { untilTrue } from '#test/support/until.ts'
import type { Attempt } from './core.ts'
import { fetchJobs } from './fetch-jobs.ts'
import { affectedIds, completeJobs, createContext } from './handler.ts'
import { reassignLostJobs } from './maintenance.ts'
import { createTestQueue, type TestQueue } from './test-queue.ts'
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
      handOver: new AbortController().signal,
    })
  await assert.rejects(db.transaction().execute(context(stale).hold), lost)
  await assert.rejects(db.transaction().execute(context(stale).complete), lost)
  await db.transaction().execute(context(current).hold)
})

test('a held job still gets its heartbeats, and no attempt starts before the holder has ended', async (t) => {
  const { queue, enqueue } = await createTestQueue(t)
  await enqueue('test.count')
  const [first] = await fetchJobs(queue, 'test.count', null, 1)
  const { hold } = createContext(queue, 'test.count', first as Attempt, new AbortController().signal, {
    onComplete() {},
    isDraining: () => false,
    handOver: new AbortController().signal,
  })
  await queue.db.transaction().execute(async (trx) => {
    await hold(trx)
    // Another connection: with a lock that it has to wait for, this would time out.
    await sql`set lock_timeout = '2s'`.execute(queue.db)
    assert.deepEqual(affectedIds(await queue.boss.touch('test.count', first!)), [first!.id])
    await sql`update queue.job set heartbeat_on = queue.job_now() - interval '1 hour'`.execute(queue.db)
    assert.equal((await reassignLostJobs(queue)).length, 1)
    assert.deepEqual(await fetchJobs(queue, 'test.count', null, 1), [])
  })
  const [second] = await fetchJobs(queue, 'test.count', null, 1)
  assert.equal(second?.id, first!.id)
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
  await untilTrue(() => logged.some((line) => line.outcome === 'lost' && line.attempt === 1))
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
