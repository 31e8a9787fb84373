// One outage of 30 s for everything that a database carries: requests, running steps, and jobs.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'kysely'
import { pino } from 'pino'
import { Type } from 'typebox'
import type { ConnectionSettings } from '#platform/database/connect.ts'
import { startEmbeddedPostgres } from '#platform/database/embedded/start.ts'
import { openListener } from '#platform/database/listen.ts'
import type { JobHandlers } from '#platform/queue/handler.ts'
import type { JobCatalog } from '#platform/queue/jobs.ts'
import { installQueue, openQueue } from '#platform/queue/open-queue.ts'
import { readQueueDepths } from '#platform/queue/queue-depths.ts'
import { startWorker } from '#platform/queue/worker.ts'
import { later } from '#test/support/later.ts'
import { scrape } from '#test/support/metrics.ts'
import { call, temporaryHome } from '#test/support/process.ts'
import { openRunWorld, type RunWorld } from '#test/support/run-world.ts'
import { until } from '#test/support/until.ts'

const AWAY_MS = 30_000
const JOBS = 1_000
const METRICS_TOKEN = 'a-token-for-metrics'

/** What is watched across the outage: during it, and when the database is back. */
type Watched = { whileAway(leftAt: number): Promise<void>; afterwards(): Promise<void> }

test('the database goes away for 30 s', async (t) => {
  const home = await temporaryHome(t)
  let server = await startEmbeddedPostgres({ home })
  later(t, () => server.stop())
  const world = await openRunWorld(t, {
    database: server.connection,
    environment: { GANTRY_HEARTBEAT_SECONDS: '10', GANTRY_METRICS_TOKEN: METRICS_TOKEN },
  })
  await sql`create database jobs`.execute(world.db)
  const watched: Record<string, Watched> = {
    'the process stays up, returns 503, and becomes ready again': await watchRequests(world),
    'the results and the output of running steps are not lost': await watchSteps(world),
    'every job that was waiting or running runs afterwards': await watchJobs(t, {
      ...server.connection,
      database: 'jobs',
    }),
  }

  await server.stop()
  const leftAt = performance.now()
  await Promise.all(Object.values(watched).map(({ whileAway }) => whileAway(leftAt)))
  server = await startEmbeddedPostgres({ home })
  const backAt = performance.now()
  for (const [name, { afterwards }] of Object.entries(watched)) await t.test(name, afterwards)
  t.diagnostic(`all over ${Math.round(performance.now() - backAt)} ms after the database came back`)
  assert.equal(await world.processes[0]!.stop(), 0)
})

async function watchRequests({ processes, ask }: RunWorld): Promise<Watched> {
  const gantry = processes[0]!
  assert.equal((await ask('GET', '/actions')).status, 200)
  return {
    async whileAway(leftAt) {
      while (performance.now() - leftAt < AWAY_MS) {
        const { status, body, headers } = await ask('GET', '/actions')
        assert.deepEqual([status, body.code], [503, 'unavailable'])
        assert.ok(Number(headers.get('retry-after')) > 0)
        assert.equal((await call(gantry, 'GET', '/healthz')).status, 503)
        const ready = await call(gantry, 'GET', '/readyz')
        assert.deepEqual([ready.status, ready.body.code], [503, 'database_unreachable'])
        await pause(500)
      }
      assert.equal(gantry.child.exitCode, null)
      const { samples } = await scrape(gantry.url!, METRICS_TOKEN)
      assert.equal(samples.get('gantry_ready'), 0)
      assert.ok(samples.get('gantry_database_connection_failures_total')! > 0)
      assert.equal(samples.get('gantry_workers{state="online"}'), undefined)
    },
    async afterwards() {
      await until('it is ready', 20_000, async () => (await call(gantry, 'GET', '/readyz')).status === 200)
      assert.equal((await ask('GET', '/actions')).status, 200)
    },
  }
}

async function watchSteps(world: RunWorld): Promise<Watched> {
  const { run, completed, endedWith, logOf, makeCustom, makeGate, notes } = world
  const gates = { good: makeGate('good'), bad: makeGate('bad'), long: makeGate('long') }
  const all = Object.values(gates)
  // None of these may be repeated.
  const pipelines = [
    await makeCustom([
      { name: 'wait', command: `echo before; ${gates.good.command}; echo after` },
      { name: 'next', command: `echo >> '${notes}/next'; echo next` },
    ]),
    await makeCustom([{ name: 'wait', command: `${gates.bad.command}; exit 3` }]),
    await makeCustom([{ name: 'wait', command: `${gates.long.command}; yes | head -c 3000000; echo after` }]),
  ]
  const [good, bad, long] = await Promise.all(pipelines.map(({ pipelineId }) => run(pipelineId)))
  await Promise.all(all.map((gate) => gate.reached()))
  await until('its output is there', 30_000, async () => /before/.test(await logOf(good!, 'wait')))
  return {
    async whileAway() {
      // Two end while it is away; the third prints more than is kept in memory.
      for (const gate of all) await gate.open()
      for (const gate of all) await until('the step continued', 30_000, async () => (await gate.left()) === 1)
    },
    async afterwards() {
      await completed(good!)
      assert.equal(await logOf(good!, 'wait'), 'before\nafter\n')
      assert.equal(await logOf(good!, 'next'), 'next\n')
      await endedWith('FAILED', bad!)
      assert.match(await logOf(bad!, 'wait'), /exited with code 3/)
      await completed(long!)
      assert.equal(await logOf(long!, 'wait'), `${'y\n'.repeat(1_500_000)}after\n`)
      for (const gate of all) assert.equal(await gate.entered(), 1)
      const attempts = await world.db.selectFrom('targets').select('attempt').execute()
      assert.deepEqual(attempts, [{ attempt: 1 }, { attempt: 1 }, { attempt: 1 }])
      await world.nothingRuns()
    },
  }
}

async function watchJobs(t: TestContext, settings: ConnectionSettings): Promise<Watched> {
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
  later(t, () => queue.close())
  const listener = await openListener(settings, { onError: () => {} })
  later(t, () => listener.close())
  const runs = new Map<number, number>()
  const firstDone = Promise.withResolvers<void>()
  const handlers: JobHandlers<typeof catalog> = {
    'test.count': async ({ number }) => {
      await pause(20)
      runs.set(number, (runs.get(number) ?? 0) + 1)
      if (runs.size >= 100) firstDone.resolve()
    },
  }
  const log = pino({ level: 'silent' })
  const worker = await startWorker({ queue, heartbeats: queue.db, listener, handlers, log })
  later(t, () => worker.stop({ graceMs: 1_000 }))
  const payloads = Array.from({ length: JOBS }, (_, number) => ({ number }))
  await queue.db.transaction().execute((trx) => queue.enqueue(trx, 'test.count', payloads))
  await firstDone.promise
  return {
    async whileAway() {
      assert.ok(runs.size < JOBS, 'some jobs were still waiting when the database went away')
    },
    async afterwards() {
      await until('every job has run', 60_000, async () => {
        const depths = await readQueueDepths(queue).catch(() => [{ ready: 1, deferred: 0, active: 0 }])
        return depths.every(({ ready, deferred, active }) => ready + deferred + active === 0)
      })
      assert.equal(runs.size, JOBS)
    },
  }
}
