import assert from 'node:assert/strict'
import { once } from 'node:events'
import test from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import { untilTrue } from '#test/support/until.ts'
import { readQueueDepths } from './queue-depths.ts'
import { createSignal } from './signal.ts'
import { countDeadLetters, createTestQueue, type TestQueue } from './test-queue.ts'

const NEVER_POLL = { pollMs: 60_000 }

test('a job runs within 100 ms of its commit, without polling', async (t) => {
  const { work, enqueue } = await createTestQueue(t)
  const started = createSignal()
  await work({ 'test.count': async () => started.notify() }, NEVER_POLL)
  await enqueue('test.count')
  await started.wait()
  await enqueue('test.count')
  const committed = performance.now()
  await started.wait()
  assert.ok(performance.now() - committed < 100)
})

test('2,000 jobs run exactly once with two workers', async (t) => {
  const { queue, work, enqueue } = await createTestQueue(t)
  const runs: number[] = []
  const count = async ({ number }: { number: number }) => {
    runs.push(number)
  }
  await work({ 'test.count': count }, NEVER_POLL)
  await work({ 'test.count': count }, NEVER_POLL)
  await enqueue('test.count', 2_000)
  await untilTrue(async () => (await remaining(queue)) === 0)
  assert.equal(runs.length, 2_000)
  assert.equal(new Set(runs).size, 2_000)
})

test('jobs that come in quick succession are fetched together; the first one does not wait', async (t) => {
  const { queue, work, enqueue } = await createTestQueue(t)
  const runs: number[] = []
  const ran = createSignal()
  await work(
    {
      'test.rested': async () => {
        runs.push(performance.now())
        ran.notify()
      },
    },
    NEVER_POLL,
  )
  await delay(150)
  const begin = performance.now()
  await enqueue('test.rested')
  await ran.wait()
  assert.ok(runs[0]! - begin < 80, 'at once')
  for (let number = 0; number < 10; number += 1) await enqueue('test.rested')
  await untilTrue(async () => (await remaining(queue)) === 0)
  const fetches = runs.filter((at, index) => index === 0 || at - runs[index - 1]! > 50)
  assert.ok(fetches.length <= 2 + (runs.at(-1)! - begin) / 100, `${fetches.length} fetches`)
})

test('no more jobs run concurrently than the catalog allows', async (t) => {
  const { queue, work, enqueue } = await createTestQueue(t)
  let active = 0
  let peak = 0
  await work({
    'test.count': async () => {
      peak = Math.max(peak, ++active)
      await delay(20)
      active--
    },
  })
  await enqueue('test.count', 500)
  await untilTrue(async () => (await remaining(queue)) === 0)
  assert.equal(peak, 200)
})

test('a retry with a delay runs when it is due, not at the next poll', async (t) => {
  const { work, enqueue } = await createTestQueue(t)
  const retried = Promise.withResolvers<number>()
  let failedAt = 0
  const fail = async (_: unknown, { attempt }: { attempt: number }) => {
    if (attempt > 1) return retried.resolve(performance.now())
    failedAt = performance.now()
    throw new Error('handler failed')
  }
  await work({ 'test.delayed': fail }, NEVER_POLL)
  await enqueue('test.delayed')
  const lateMs = (await retried.promise) - failedAt - 1_000
  assert.ok(lateMs >= 0 && lateMs < 300, `${lateMs} ms late`)
})

test('a failed job is retried at once, and becomes a dead letter after its last retry', async (t) => {
  const { queue, work, enqueue, logged } = await createTestQueue(t)
  const attempts: number[] = []
  await work(
    {
      'test.count': async (_, { attempt }) => {
        attempts.push(attempt)
        throw new Error('handler failed')
      },
    },
    NEVER_POLL,
  )
  await enqueue('test.count')
  await untilTrue(async () => (await countDeadLetters(queue)) === 1)
  assert.deepEqual(attempts, [1, 2, 3])
  const lines = logged.filter((line) => line.level === 'warn')
  assert.deepEqual(
    lines.map(({ job, attempt, outcome, error }) => ({ job, attempt, outcome, error })),
    [1, 2, 3].map((attempt) => ({ job: 'test.count', attempt, outcome: 'failed', error: 'handler failed' })),
  )
})

test('a failure is stored even when its message contains characters that PostgreSQL rejects', async (t) => {
  const { queue, work, enqueue } = await createTestQueue(t)
  await work({
    'test.hasty': async () => {
      throw new Error('NUL \u0000 and a lone surrogate \ud800')
    },
  })
  await enqueue('test.hasty')
  await untilTrue(async () => (await countDeadLetters(queue)) === 1)
})

test('a timeout aborts the signal and fails the attempt', async (t) => {
  const { queue, work, enqueue, logged } = await createTestQueue(t)
  await work({
    'test.hasty': async (_, { signal }) => {
      await once(signal, 'abort')
    },
  })
  await enqueue('test.hasty')
  await untilTrue(async () => (await countDeadLetters(queue)) === 1)
  await untilTrue(() => logged.some((line) => line.job))
  assert.equal(logged.find((line) => line.job)?.error, 'timed out after 0.1 s')
})

test('a handler that ignores its signal loses its slot', async (t) => {
  const { queue, work, enqueue } = await createTestQueue(t)
  await work({ 'test.hasty': () => new Promise(() => {}) })
  await enqueue('test.hasty', 201)
  await untilTrue(async () => (await countDeadLetters(queue)) === 201)
})

test('a stored payload that no longer matches its schema fails without running', async (t) => {
  const { queue, work } = await createTestQueue(t)
  let runs = 0
  await work({
    'test.hasty': async () => {
      runs++
    },
  })
  await queue.boss.insert('test.hasty', [{ data: { number: 'one' } }])
  await untilTrue(async () => (await countDeadLetters(queue)) === 1)
  assert.equal(runs, 0)
})

test('a stopping worker lets running jobs finish', async (t) => {
  const { queue, work, enqueue } = await createTestQueue(t)
  const started = Promise.withResolvers<void>()
  const finish = Promise.withResolvers<void>()
  const worker = await work({
    'test.count': async () => {
      started.resolve()
      await finish.promise
    },
  })
  await enqueue('test.count')
  await started.promise
  const stopped = worker.stop({ graceMs: 5_000 })
  finish.resolve()
  await stopped
  assert.equal(await remaining(queue), 0)
})

test('a job that does not finish within the grace period of a stop is handed back and runs elsewhere at once', async (t) => {
  const { work, enqueue, logged } = await createTestQueue(t)
  const started = Promise.withResolvers<void>()
  const worker = await work({
    'test.count': async (_, { signal }) => {
      started.resolve()
      await once(signal, 'abort')
      signal.throwIfAborted()
    },
  })
  await enqueue('test.count')
  await started.promise
  const ranAgain = Promise.withResolvers<number>()
  await work({ 'test.count': async (_, { attempt }) => ranAgain.resolve(attempt) }, NEVER_POLL)
  await worker.stop({ graceMs: 10 })
  assert.equal(await ranAgain.promise, 2)
  assert.ok(logged.some((line) => line.outcome === 'handed-back'))
})

test('a handler may complete its job in its own transaction', async (t) => {
  const { queue, work, enqueue, logged } = await createTestQueue(t)
  await work({
    'test.count': async (_, context) => {
      await queue.db.transaction().execute((trx) => context.complete(trx))
    },
  })
  await enqueue('test.count')
  await untilTrue(() => logged.some((line) => line.outcome === 'completed'))
  assert.equal(await remaining(queue), 0)
})

test('a job without a handler in this process is left for another', async (t) => {
  const { queue, work, enqueue } = await createTestQueue(t)
  await work({ 'test.count': async () => {} })
  await enqueue('test.hasty')
  await enqueue('test.count')
  await untilTrue(async () => (await remaining(queue)) === 1)
  const depths = await readQueueDepths(queue)
  assert.equal(depths.find((depth) => depth.job === 'test.hasty')?.ready, 1)
})

async function remaining(queue: TestQueue['queue']): Promise<number> {
  const { rows } = await sql<{ count: number }>`select count(*) as count from queue.job`.execute(queue.db)
  return rows[0]!.count
}
