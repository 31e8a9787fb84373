// Half an hour of calls, with a fault in every minute. Not part of any suite: `npm run soak`, before a release.
// GANTRY_TEST_SOAK_MINUTES makes it shorter.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import pg from 'pg'
import { openBusyEnvironment, problemsIn, untilEnded } from '#test/support/busy-environment.ts'
import type { GantryProcess } from '#test/support/process.ts'

const MINUTES = Number(process.env.GANTRY_TEST_SOAK_MINUTES ?? 30)
const CALLS_PER_SECOND = 20
const MINUTE_MS = 60_000
const MAX_MS = 900_000

type World = Awaited<ReturnType<typeof openBusyEnvironment>>
type Stage = { world: World; apis: GantryProcess[]; workers: GantryProcess[] }

const pauseFor = async ({ child }: GantryProcess, ms: number) => {
  child.kill('SIGSTOP')
  await delay(ms)
  child.kill('SIGCONT')
}

/** A process that is killed, and another one in its place; callers see the new one. */
async function replace(processes: GantryProcess[], start: () => Promise<GantryProcess>): Promise<void> {
  await processes[0]!.kill()
  processes.splice(0, 1)
  processes.push(await start())
}

async function inSession(world: World, ms: number, ...statements: string[]): Promise<void> {
  const client = new pg.Client({ ...world.settings, application_name: 'psql' })
  client.on('error', () => {})
  await client.connect()
  for (const statement of statements) await client.query(statement)
  await delay(ms)
  await client.end()
}

const FAULTS: Record<string, (stage: Stage) => Promise<unknown>> = {
  'a worker is killed': ({ world, workers }) => replace(workers, () => world.start('worker')),
  'a worker freezes for 40 s': ({ workers }) => pauseFor(workers[0]!, 40_000),
  'an API process is killed': ({ world, apis }) => replace(apis, () => world.start('api')),
  'an API process freezes for 10 s': ({ apis }) => pauseFor(apis[0]!, 10_000),
  'the database restarts': async ({ world }) => {
    await world.server.stop()
    await world.server.start()
  },
  'the database is away for 20 s': async ({ world }) => {
    await world.server.kill()
    await delay(20_000)
    await world.server.start()
  },
  'all connections are ended': ({ world }) =>
    world.server.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'gantry%'`,
    ),
  'the environment is locked for 15 s': ({ world }) =>
    inSession(
      world,
      15_000,
      'begin',
      `select pg_advisory_xact_lock(hashtextextended('scheduling ' || ${world.environmentId}::bigint, 0))`,
    ),
  'a table is locked for 8 s': ({ world }) => inSession(world, 8_000, 'begin', 'lock table targets'),
  'two workers freeze for 30 s': ({ workers }) =>
    Promise.all(workers.slice(0, 2).map((worker) => pauseFor(worker, 30_000))),
}

test(`${MINUTES} minutes with a fault in each`, async (t) => {
  const world = await openBusyEnvironment(t, '18')
  const stage: Stage = {
    world,
    apis: [world.processes[0]!, await world.start('api')],
    workers: [await world.start('worker'), await world.start('worker'), await world.start('worker')],
  }
  const calls = world.startCalls(CALLS_PER_SECOND, () => stage.apis.flatMap(({ url }) => url ?? []))
  const names = Object.keys(FAULTS)
  for (let minute = 0; minute < MINUTES; minute += 1) {
    const name = names[minute % names.length]!
    const over = delay(MINUTE_MS)
    await FAULTS[name]!(stage)
    await over
    t.diagnostic(`${minute + 1}: ${name}; ${calls.actions.size} calls; ${await memoryOf(stage)}`)
  }
  await calls.stop()
  const stoppedAt = performance.now()
  await untilEnded(world.db, MAX_MS).finally(() => report(t, stage, calls))
  t.diagnostic(
    `all runs had ended ${Math.round((performance.now() - stoppedAt) / 1_000)} s after the last call`,
  )
  const ids = [...calls.actions.values()]
  const actions = await world.db
    .selectFrom('actions')
    .select(['id', 'status', 'status_reason_code'])
    .execute()
  assert.equal(actions.length, ids.length, 'one run for each call')
  assert.deepEqual(
    actions.filter(({ status }) => status !== 'completed'),
    [],
  )
})

async function memoryOf({ apis, workers }: Stage): Promise<string> {
  const sizes = await Promise.all(
    [...apis, ...workers].map(async ({ child }) => {
      const status = await readFile(`/proc/${child.pid}/status`, 'utf8')
      return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)![1]) / 1_024)
    }),
  )
  return `${sizes.join(', ')} MiB`
}

async function report(
  t: TestContext,
  { world, apis, workers }: Stage,
  calls: ReturnType<World['startCalls']>,
) {
  const { rows } = await sql`
    select status, status_reason_code as reason, count(*)::int as runs from actions group by 1, 2`.execute(
    world.db,
  )
  t.diagnostic(`runs: ${JSON.stringify(rows)}`)
  t.diagnostic(`calls: ${calls.actions.size} accepted; refused: ${JSON.stringify([...calls.refusals])}`)
  for (const one of [...apis, ...workers]) {
    const bytes = one.log.reduce((sum, line) => sum + line.length + 1, 0)
    const kinds = Object.entries(Object.groupBy(problemsIn(one), (message) => message))
    const problems = kinds.map(([message, all]) => `${all!.length} × ${message}`).join('; ')
    t.diagnostic(`log: ${one.log.length} lines, ${Math.round(bytes / 1_024)} KiB: ${problems}`)
  }
}
