import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { pino } from 'pino'
import { Type } from 'typebox'
import { startEmbeddedPostgres } from '#platform/database/embedded/start.ts'
import { openListener } from '#platform/database/listen.ts'
import type { JobHandlers } from '#platform/queue/handler.ts'
import type { JobCatalog } from '#platform/queue/jobs.ts'
import { installQueue, openQueue } from '#platform/queue/open-queue.ts'
import { readQueueDepths } from '#platform/queue/queue-depths.ts'
import { startWorker } from '#platform/queue/worker.ts'
import { scrape } from '#test/support/metrics.ts'
import { ADMIN_ENVIRONMENT, call, logInAsAdmin, startGantry, temporaryHome } from '#test/support/process.ts'

const AWAY_MS = 30_000
const JOBS = 1_000
const METRICS_TOKEN = 'a-token-for-metrics'

/** The embedded server's socket, as a URL that another process can be given. */
function urlOf({
  host,
  port,
  user,
  database,
}: {
  host: string
  port: number
  user: string
  database: string
}): string {
  return `postgres:///${database}?host=${encodeURIComponent(host)}&port=${port}&user=${user}`
}

test('the database goes away for 30 s: the process stays up, returns 503, and becomes ready again', async (t) => {
  const databaseHome = await temporaryHome(t)
  let server = await startEmbeddedPostgres({ home: databaseHome })
  t.after(() => server.stop())
  const { connection } = server
  const gantry = await startGantry(t, {
    GANTRY_HOME: await temporaryHome(t),
    DATABASE_URL: urlOf(connection),
    GANTRY_METRICS_TOKEN: METRICS_TOKEN,
    ...ADMIN_ENVIRONMENT,
  })
  const token = await logInAsAdmin(gantry)
  const statusOf = async (path: string) => (await call(gantry, 'GET', path, { token })).status
  assert.equal(await statusOf('/actions'), 200)

  await server.stop()
  const leftAt = performance.now()
  let refused = 0
  while (performance.now() - leftAt < AWAY_MS) {
    const answer = await call(gantry, 'GET', '/actions', { token })
    assert.equal(answer.status, 503)
    assert.ok(Number(answer.headers.get('retry-after')) > 0)
    assert.equal(answer.body.code, 'unavailable')
    assert.equal(await statusOf('/healthz'), 503)
    const ready = await call(gantry, 'GET', '/readyz')
    assert.deepEqual([ready.status, ready.body.code], [503, 'database_unreachable'])
    refused += 1
    await pause(500)
  }
  assert.equal(gantry.child.exitCode, null)
  const { samples } = await scrape(gantry.url!, METRICS_TOKEN)
  assert.equal(samples.get('gantry_ready'), 0)
  assert.ok(samples.get('gantry_database_connection_failures_total')! > 0)
  assert.equal(samples.get('gantry_workers{state="online"}'), undefined)

  server = await startEmbeddedPostgres({ home: databaseHome })
  const backAt = performance.now()
  while ((await statusOf('/readyz')) !== 200) {
    assert.ok(performance.now() - backAt < 20_000, 'ready again within 20 s')
    await pause(100)
  }
  t.diagnostic(
    `${refused} requests refused; ready ${Math.round(performance.now() - backAt)} ms after the database came back`,
  )
  assert.equal(await statusOf('/actions'), 200)

  assert.equal(await gantry.stop(), 0)
})

test('the database goes away for 30 s: every job that was waiting or running runs afterwards', async (t) => {
  const databaseHome = await temporaryHome(t)
  let server = await startEmbeddedPostgres({ home: databaseHome })
  t.after(() => server.stop())
  const settings = server.connection
  const catalog = {
    'test.count': {
      payload: Type.Object({ number: Type.Integer() }),
      retryLimit: 2,
      retryDelaySeconds: 1,
      timeoutSeconds: 60,
      concurrency: 20,
      batchSize: 20,
    },
  } satisfies JobCatalog
  await installQueue(settings, catalog)
  const queue = await openQueue({ settings, catalog, onError: () => {} })
  const listener = await openListener(settings, { onError: () => {} })
  const runs = new Map<number, number>()
  const firstDone = Promise.withResolvers<void>()
  const log = pino({ level: 'silent' })
  const handlers: JobHandlers<typeof catalog> = {
    'test.count': async ({ number }) => {
      await pause(20)
      runs.set(number, (runs.get(number) ?? 0) + 1)
      if (runs.size >= 100) firstDone.resolve()
    },
  }
  const worker = await startWorker({ queue, heartbeats: queue.db, listener, handlers, log })
  const payloads = Array.from({ length: JOBS }, (_, number) => ({ number }))
  await queue.db.transaction().execute((trx) => queue.enqueue(trx, 'test.count', payloads))
  await firstDone.promise

  await server.stop()
  await pause(AWAY_MS)
  assert.ok(runs.size < JOBS, 'some jobs were still waiting when the database went away')
  server = await startEmbeddedPostgres({ home: databaseHome })
  const backAt = performance.now()
  const isDone = async () =>
    (await readQueueDepths(queue)).every(({ ready, deferred, active }) => ready + deferred + active === 0)
  while (!(await isDone().catch(() => false))) {
    assert.ok(performance.now() - backAt < 60_000, 'every job has run within a minute')
    await pause(100)
  }
  const twice = [...runs.values()].filter((count) => count > 1).length
  t.diagnostic(
    `${runs.size} of ${JOBS} jobs ran, ${twice} of them more than once, done ${Math.round(performance.now() - backAt)} ms after the return`,
  )
  assert.equal(runs.size, JOBS)
  await worker.stop({ graceMs: 1_000 })
  await listener.close()
  await queue.close()
})
