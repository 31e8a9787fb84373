// Something holds up one environment, or takes the connections of the database: calls are answered within seconds, other
// environments go on, and everything recovers by itself.
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { suite, type TestContext, test } from 'node:test'
import { sql } from 'kysely'
import pg from 'pg'
import {
  freezeWithLock,
  openBusyEnvironment,
  timeOf,
  UNLIMITED,
  untilEnded,
} from '#test/support/busy-environment.ts'
import { later } from '#test/support/later.ts'
import { until } from '#test/support/until.ts'

const ANSWERED_MS = 6_000
const MAX_MS = 120_000
const SOON_MS = 15_000

type World = Awaited<ReturnType<typeof openBusyEnvironment>>

/** A hook of an environment of its own. */
async function makeHook(world: World, pipeline: object = {}) {
  const made = await world.makeCustom([{ name: 'print', command: 'echo hello' }], {
    ...UNLIMITED,
    pipeline: { ...UNLIMITED.pipeline, ...pipeline },
  })
  return { ...made, ...(await world.makeHook(made.pipelineId)) }
}

function callOf({ secret }: { secret: string }): RequestInit {
  const signature = createHmac('sha256', secret).update('{}').digest('hex')
  const headers = { 'content-type': 'application/json', 'x-hub-signature-256': `sha256=${signature}` }
  return { method: 'POST', headers, body: '{}' }
}

/** Calls a hook once; the status and the code of the answer. */
async function callOnce(url: string, hook: { path: string; secret: string }) {
  const began = performance.now()
  const response = await fetch(`${url}${hook.path}`, callOf(hook))
  await response.arrayBuffer()
  const took = performance.now() - began
  assert.ok([202, 503].includes(response.status), String(response.status))
  assert.ok(took < ANSWERED_MS, `answered after ${took} ms`)
  return response.status
}

/** A session of somebody else. */
async function openSession(t: TestContext, settings: World['settings']): Promise<pg.Client> {
  const client = new pg.Client({ ...settings, application_name: 'psql' })
  client.on('error', () => {})
  await client.connect()
  later(t, () => client.end())
  return client
}

async function allComplete({ db }: World): Promise<void> {
  await untilEnded(db, MAX_MS)
  const others = await db.selectFrom('actions').select('id').where('status', '!=', 'completed').execute()
  assert.deepEqual(others, [])
}

suite('an environment is held up', () => {
  test('by a lock in a session of psql: its runs wait, those of other environments do not', async (t) => {
    const world = await openBusyEnvironment(t, '18')
    const worker = await world.start('worker')
    const other = await makeHook(world)
    const psql = await openSession(t, world.settings)
    const { environmentId } = world
    await psql.query('begin')
    await psql.query(`select pg_advisory_xact_lock(hashtextextended('scheduling ' || $1::bigint, 0))`, [
      environmentId,
    ])
    // More than a worker has connections.
    const calls = world.startCalls(40)
    await until('many runs wait', MAX_MS, () => calls.actions.size > 120)
    const began = performance.now()
    const id = await world.fire(other)
    await world.completed(id)
    const took = performance.now() - began
    t.diagnostic(`a run elsewhere took ${Math.round(took)} ms`)
    assert.ok(took < SOON_MS)
    assert.equal(await callOnce(world.processes[0]!.url!, other), 202)
    assert.equal(calls.refusals.size, 0, 'calls do not need the lock')
    const held = worker.log.map((line) => JSON.parse(line)).find(({ held_by }) => held_by)
    assert.equal(held?.held_by[0].application, 'psql')
    await psql.query('rollback')
    await calls.stop()
    await allComplete(world)
  })

  test('by two workers that are frozen with what they hold: a third one goes on', async (t) => {
    const world = await openBusyEnvironment(t, '18')
    const { db } = world
    const sleepers = await Promise.all([world.start('worker'), world.start('worker')])
    const calls = world.startCalls(20)
    for (const sleeper of sleepers) await freezeWithLock(db, sleeper)
    const at = await timeOf(db)
    await world.start('worker')
    await until('runs complete', SOON_MS, async () => {
      const { rows } = await sql`select from actions where completed_at > ${at} limit 10`.execute(db)
      return rows.length === 10
    })
    for (const { child } of sleepers) child.kill('SIGCONT')
    await calls.stop()
    await allComplete(world)
  })

  test('by an API process that is frozen in the middle of a commit: calls of the other one are answered', async (t) => {
    const world = await openBusyEnvironment(t, '18')
    const { db } = world
    const frozen = world.processes[0]!
    const [other] = await Promise.all([world.start('api'), world.start('worker')])
    // Each call skips the runs before it, under the lock of the environment.
    const hook = await makeHook(world, { queue_policy: 'latest', max_parallel_actions: 1 })
    let isOver = false
    later(t, async () => {
      isOver = true
    })
    const sending = Promise.all(
      Array.from({ length: 8 }, async () => {
        while (!isOver) await fetch(`${frozen.url}${hook.path}`, callOf(hook)).catch(() => {})
      }),
    )
    await freezeWithLock(db, frozen)
    const began = performance.now()
    await until('a call is accepted', SOON_MS, async () => (await callOnce(other.url!, hook)) === 202)
    t.diagnostic(`accepted after ${Math.round(performance.now() - began)} ms`)
    isOver = true
    frozen.child.kill('SIGCONT')
    await sending
    assert.equal(await callOnce(frozen.url!, hook), 202)
    await untilEnded(db, MAX_MS)
  })
})

suite('connections are short', () => {
  test('two of them are enough for runs, calls and health', async (t) => {
    const world = await openBusyEnvironment(t, '18')
    const few = { GANTRY_DATABASE_CONNECTIONS: '2' }
    const [api] = await Promise.all([world.start('api', few), world.start('worker', few)])
    const hook = await makeHook(world)
    const calls = world.startCalls(20)
    await until('many runs wait', MAX_MS, () => calls.actions.size > 60)
    for (let n = 0; n < 10; n += 1) {
      assert.equal(await callOnce(api.url!, hook), 202)
      assert.equal((await fetch(`${api.url}/readyz`)).status, 200)
    }
    await calls.stop()
    await allComplete(world)
  })

  test('the server has none left: what is open goes on, and the rest comes back', async (t) => {
    const world = await openBusyEnvironment(t, '18')
    await world.start('worker')
    const [api] = world.processes
    const hook = await makeHook(world)
    const sessions: pg.Client[] = []
    for (;;) {
      const client = new pg.Client(world.settings)
      client.on('error', () => {})
      const isOpen = await client.connect().then(
        () => true,
        () => false,
      )
      if (!isOpen) break
      sessions.push(client)
    }
    const statuses = new Set<number>()
    for (let n = 0; n < 20; n += 1) statuses.add(await callOnce(api!.url!, hook))
    t.diagnostic(`${sessions.length} sessions of others; calls got ${[...statuses].join(', ')}`)
    for (const client of sessions) await client.end()
    await until('calls are accepted', SOON_MS, async () => (await callOnce(api!.url!, hook)) === 202)
    await allComplete(world)
  })
})
