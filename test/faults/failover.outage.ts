// The database fails over to its standby under load: nothing that was acknowledged is lost, nothing is done twice.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { startPostgresProxy } from '#test/support/haproxy.ts'
import { startReplicatedPostgres } from '#test/support/own-postgres.ts'
import { startPatroni } from '#test/support/patroni.ts'
import { startPgBouncer } from '#test/support/pgbouncer.ts'
import type { GantryProcess } from '#test/support/process.ts'
import { openRunWorld } from '#test/support/run-world.ts'
import { assertRanOnce, assertStartedOnce, notingSteps, startCalls } from '#test/support/steady-calls.ts'

const LOAD_MS = 3_000
const ACCEPTED_WITHIN_MS = 2_000
/** PgBouncer tries to log in once a second. */
const ACCEPTED_WITH_POOLER_MS = 6_000

test('a primary that dies and a standby that is promoted, behind HAProxy', async (t) => {
  const { proxyPort, fail } = await startPair(t)
  await failOver(t, proxyPort, fail)
})

test('the same with PgBouncer between Gantry and HAProxy', async (t) => {
  const { proxyPort, fail } = await startPair(t)
  await failOver(t, await startPgBouncer(t, proxyPort, 'postgres'), fail, ACCEPTED_WITH_POOLER_MS)
})

test('a cluster under Patroni with etcd, which replaces a primary that dies', async (t) => {
  const cluster = await startPatroni(t)
  const port = await startPostgresProxy(t, cluster.members)
  await failOver(t, port, cluster.failOver)
})

async function startPair(t: TestContext) {
  const { primary, standby, promote } = await startReplicatedPostgres(t)
  return {
    proxyPort: await startPostgresProxy(t, [primary, standby]),
    async fail() {
      await primary.kill()
      await delay(1_000)
      await promote()
    },
  }
}

/** `fail` resolves when the standby takes writes. */
async function failOver(
  t: TestContext,
  port: number,
  fail: () => Promise<void>,
  withinMs = ACCEPTED_WITHIN_MS,
): Promise<void> {
  const world = await openRunWorld(t, {
    roles: ['api', 'api', 'worker', 'worker', 'worker'],
    database: { host: '127.0.0.1', port, user: 'gantry', database: 'postgres', ssl: false },
    environment: {
      DATABASE_URL: `postgres://gantry@127.0.0.1:${port}/postgres?sslmode=disable`,
      GANTRY_WORKER_NAME: 'm1',
      GANTRY_HEARTBEAT_SECONDS: '10',
    },
  })
  const { db, notes, processes } = world
  const urls = processes.flatMap(({ url }) => url ?? [])
  const workersBefore = await db.selectFrom('workers').select('id').orderBy('id').execute()
  assert.equal(workersBefore.length, 3)

  const steps = notingSteps(join(notes, 'steps'))
  const unlimited = { server: { max_parallel_actions: 0 }, pipeline: { max_parallel_actions: 0 } }
  const { pipelineId } = await world.makeCustom(steps, unlimited)
  const gate = world.makeGate('across')
  const across = await world.makeCustom([{ name: 'across', command: gate.command }, ...steps], unlimited)
  const hooks = [await world.makeHook(pipelineId)]
  const long = await world.run(across.pipelineId)
  await gate.reached()

  const calls = startCalls({ urls: () => urls, hooks, senders: 6, gapMs: 350 })
  await delay(LOAD_MS)
  const accepted = calls.actions.size
  assert.ok(accepted > 10, `${accepted} calls accepted`)
  const diedAt = performance.now()
  await fail()
  const promotedAt = performance.now()
  await delay(LOAD_MS)
  await gate.open()
  await calls.stop()
  const away = Math.round(promotedAt - diedAt)
  const acceptedAfter = Math.round(calls.acceptedAfter(promotedAt))
  t.diagnostic(
    `${calls.actions.size} calls; away for ${away} ms, the next accepted ${acceptedAfter} ms later`,
  )
  t.diagnostic(`refused: ${JSON.stringify([...calls.refusals])}`)
  assert.ok(acceptedAfter < withinMs)

  const workersAfter = await db.selectFrom('workers').select('id').orderBy('id').execute()
  assert.deepEqual(workersAfter, workersBefore)
  await assertStartedOnce(db, calls.actions, [long])
  await assertRanOnce(db, join(notes, 'steps'), [...calls.actions.values(), long])
  for (const process of processes) assertQuiet(process)
}

/** Beyond the outage, no process complains. */
function assertQuiet({ log }: GantryProcess): void {
  const errors = log.map((line) => JSON.parse(line)).filter(({ level }) => level >= 50)
  assert.deepEqual(
    errors.filter(({ msg }) => !/database/.test(msg)),
    [],
  )
}
