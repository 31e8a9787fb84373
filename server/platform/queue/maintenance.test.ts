import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import test from 'node:test'
import { sql } from 'kysely'
import { untilTrue } from '#test/support/until.ts'
import { enqueuePeriodicJobs, reassignLostJobs } from './maintenance.ts'
import { countDeadLetters, createTestQueue } from './test-queue.ts'

test('the job of a killed worker process is reassigned', async (t) => {
  const { queue, settings, work, enqueue, logged } = await createTestQueue(t)
  await sql`update queue.queue set heartbeat_seconds = 2`.execute(queue.db)
  await enqueue('test.count')
  const child = spawn(process.execPath, [`${import.meta.dirname}/test-hanging-worker.ts`], {
    env: { SETTINGS: JSON.stringify(settings) },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => child.kill('SIGKILL'))
  await once(child.stdout, 'data')
  const reassigned = Promise.withResolvers<number>()
  await work(
    { 'test.count': async (_, { attempt }) => reassigned.resolve(attempt) },
    { pollMs: 60_000, maintenanceMs: 100 },
  )
  child.kill('SIGKILL')
  assert.equal(await reassigned.promise, 2)
  await untilTrue(() => logged.some((line) => line.message === 'worker lost; job reassigned'))
})

test('a live worker keeps its job, however long it takes', async (t) => {
  const { queue, work, enqueue } = await createTestQueue(t)
  await sql`update queue.queue set heartbeat_seconds = 1`.execute(queue.db)
  const finish = Promise.withResolvers<void>()
  let runs = 0
  await work(
    {
      'test.count': async () => {
        runs++
        await finish.promise
      },
    },
    { heartbeatMs: 50, maintenanceMs: 50 },
  )
  await enqueue('test.count')
  const heartbeats = sql<{ old: boolean }>`
    select heartbeat_on > started_on + interval '2 seconds' as old from queue.job where state = 'active'`
  await untilTrue(async () => (await heartbeats.execute(queue.db)).rows[0]?.old === true)
  finish.resolve()
  assert.equal(runs, 1)
})

test('a job that loses worker after worker becomes a dead letter', async (t) => {
  const { queue, enqueue } = await createTestQueue(t)
  await enqueue('test.hasty')
  let attempts = 0
  while ((await queue.boss.fetch('test.hasty')).length > 0) {
    attempts++
    await sql`update queue.job set heartbeat_on = now() - interval '1 hour'`.execute(queue.db)
    await reassignLostJobs(queue)
  }
  assert.equal(attempts, 4)
  await queue.boss.supervise()
  assert.equal(await countDeadLetters(queue), 1)
})

test('a periodic job is enqueued once per period, however many processes try', async (t) => {
  const { queue } = await createTestQueue(t)
  await Promise.all([1, 2, 3, 4].map(() => enqueuePeriodicJobs(queue)))
  assert.equal((await queue.boss.findJobs('test.periodic')).length, 1)
  const [job] = await queue.boss.fetch('test.periodic')
  await queue.boss.complete('test.periodic', job!)
  await enqueuePeriodicJobs(queue)
  assert.equal((await queue.boss.findJobs('test.periodic')).length, 1)
})

test('a worker enqueues the periodic jobs', async (t) => {
  const { work } = await createTestQueue(t)
  const ran = Promise.withResolvers<void>()
  await work({ 'test.periodic': async () => ran.resolve() }, { maintenanceMs: 50 })
  await ran.promise
})
