import assert from 'node:assert/strict'
import test from 'node:test'
import { sql } from 'kysely'
import { administer } from '#test/support/database.ts'
import { answerProbe, createProbe } from './probe.ts'
import { createTestQueue } from './test-queue.ts'

test('with a worker in the cluster the queue works, and concurrent checks share one probe', async (t) => {
  const { queue, work } = await createTestQueue(t)
  await work({ 'queue.probe': answerProbe })
  const probes = [createProbe({ queue, db: queue.db }), createProbe({ queue, db: queue.db })]
  const results = await Promise.all(probes.flatMap((probe) => [probe.isWorking(), probe.isWorking()]))
  assert.deepEqual(results, [true, true, true, true])
  assert.equal(await createProbe({ queue, db: queue.db }).isWorking(), true)
  assert.ok((await queue.boss.findJobs('queue.probe')).length <= 2)
})

test('without a worker the queue does not work, and probes do not pile up', async (t) => {
  const { queue } = await createTestQueue(t)
  const probe = createProbe({ queue, db: queue.db, waitMs: 50 })
  assert.equal(await probe.isWorking(), false)
  assert.equal(await probe.isWorking(), false)
  assert.equal((await queue.boss.findJobs('queue.probe')).length, 1)
})

test('an old probe does not count', async (t) => {
  const { queue, work } = await createTestQueue(t)
  const worker = await work({ 'queue.probe': answerProbe })
  const probe = createProbe({ queue, db: queue.db, maxAgeMs: 1_000, waitMs: 2_000 })
  assert.equal(await probe.isWorking(), true)
  await worker.stop({ graceMs: 0 })
  assert.equal(await createProbe({ queue, db: queue.db, maxAgeMs: 0, waitMs: 50 }).isWorking(), false)
})

test('an outage is reported as not working, not thrown', async (t) => {
  const { queue, settings } = await createTestQueue(t)
  await administer(`alter database ${settings.database} with allow_connections false`)
  await administer(
    `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${settings.database}'`,
  )
  assert.equal(await createProbe({ queue, db: queue.db }).isWorking(), false)
})

test('a database that does not answer is reported in time', async (t) => {
  const { queue } = await createTestQueue(t)
  const blocker = await queue.db.startTransaction().execute()
  await sql`lock table queue.job in access exclusive mode`.execute(blocker)
  const askedAt = performance.now()
  assert.equal(await createProbe({ queue, db: queue.db, waitMs: 200 }).isWorking(), false)
  const took = performance.now() - askedAt
  await blocker.rollback().execute()
  assert.ok(took < 4_000, `after ${took} ms`)
})
