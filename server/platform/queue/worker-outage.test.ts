import assert from 'node:assert/strict'
import test from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import { administer } from '#test/support/database.ts'
import { untilTrue } from '#test/support/until.ts'
import { createTestQueue, type LogLine, type TestQueue } from './test-queue.ts'

// The outage itself takes time: with a heartbeat of one second, every running job then looks abandoned.
const LONGER_THAN_HEARTBEAT_MS = 1_500

test('after an outage finished work is stored, running work continues, and every job runs once', async (t) => {
  const { queue, settings, work, enqueue, logged } = await createTestQueue(t)
  await sql`update queue.queue set heartbeat_seconds = 1`.execute(queue.db)
  const runs = new Map<number, number>()
  const started = Promise.withResolvers<void>()
  const duringOutage = Promise.withResolvers<void>()
  const afterOutage = Promise.withResolvers<void>()
  await work(
    {
      'test.count': async ({ number }) => {
        runs.set(number, (runs.get(number) ?? 0) + 1)
        if (runs.size === 200) started.resolve()
        await (number % 2 ? duringOutage.promise : afterOutage.promise)
      },
    },
    { heartbeatMs: 100, maintenanceMs: 100, returnGraceMs: 3_000 },
  )
  await enqueue('test.count', 400)
  await started.promise

  await blockConnections(settings.database!)
  duringOutage.resolve()
  await untilTrue(() => logged.some((line) => line.level === 'error'))
  await delay(LONGER_THAN_HEARTBEAT_MS)
  await allowConnections(settings.database!)
  afterOutage.resolve()

  await untilTrue(async () => (await unfinished(queue)) === 0)
  assert.equal(runs.size, 400)
  assert.deepEqual(new Set(runs.values()), new Set([1]))
  await untilTrue(() => logged.some(isOutageEnd))
  assert.equal(logged.filter((line) => line.level === 'error').length, 1)
})

test('after an outage, workers have a grace period to send a heartbeat', async (t) => {
  const { queue, settings, work, enqueue, logged } = await createTestQueue(t)
  await sql`update queue.queue set heartbeat_seconds = 1`.execute(queue.db)
  await enqueue('test.count')
  await queue.boss.fetch('test.count')
  await work({}, { maintenanceMs: 100, returnGraceMs: 1_000 })
  await blockConnections(settings.database!)
  await delay(LONGER_THAN_HEARTBEAT_MS)
  await allowConnections(settings.database!)
  const reassigned = (line: LogLine) => line.message === 'worker lost; job reassigned'
  await untilTrue(() => logged.some(reassigned))
  assert.ok(logged.find(reassigned)!.at - logged.find(isOutageEnd)!.at > 900)
})

test('a worker stops in time during an outage', async (t) => {
  const { settings, work, enqueue } = await createTestQueue(t)
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
  await blockConnections(settings.database!)
  finish.resolve()
  await worker.stop({ graceMs: 100 })
})

async function blockConnections(database: string): Promise<void> {
  await administer(`alter database ${database} with allow_connections false`)
  await administer(`select pg_terminate_backend(pid) from pg_stat_activity where datname = '${database}'`)
}

async function allowConnections(database: string): Promise<void> {
  await administer(`alter database ${database} with allow_connections true`)
}

function isOutageEnd(line: LogLine): boolean {
  return line.message === 'database available again'
}

async function unfinished(queue: TestQueue['queue']): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from queue.job where name = 'test.count'`.execute(queue.db)
  return rows[0]!.count
}
