// Many runs in one environment, whose changes all go through one lock: workers that are alive keep their jobs, and a worker
// that freezes holds nobody up. GANTRY_TEST_LOAD_SECONDS makes the load longer.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import type { Database } from '#platform/database/connect.ts'
import {
  freezeWithLock,
  longestPause,
  openBusyEnvironment,
  problemsIn,
  startBusyLoop,
  timeOf,
  untilEnded,
  urlOf,
  watchHeartbeats,
} from '#test/support/busy-environment.ts'
import type { GantryProcess } from '#test/support/process.ts'
import { startSilentProxy } from '#test/support/silent-proxy.ts'
import { until } from '#test/support/until.ts'

const LOAD_SECONDS = Number(process.env.GANTRY_TEST_LOAD_SECONDS ?? 8)
const GANTRY_HEARTBEAT_SECONDS = '10'
/** Longer than jobs then wait for their worker. */
const FROZEN_SECONDS = Math.max(15, 1.5 * LOAD_SECONDS)
const MAX_MS = 60_000 + LOAD_SECONDS * 6_000
/** A heartbeat is due every five seconds. */
const MISSED_SECONDS = 10
const LONGEST_PAUSE_SECONDS = 8

for (const major of ['15', '18']) {
  test(`PostgreSQL ${major}: fifty calls a second beside two busy loops, and no run is lost`, async (t) => {
    const { db, file, start, startCalls } = await openBusyEnvironment(t, major)
    const workers = await Promise.all([start('worker'), start('worker')])
    const endLoops = [startBusyLoop(t), startBusyLoop(t)]
    const oldestHeartbeat = watchHeartbeats(db)
    const calls = startCalls(50)
    await delay(LOAD_SECONDS * 1_000)
    await calls.stop()
    const ids = [...calls.actions.values()]
    await untilEnded(db, MAX_MS)
    for (const end of endLoops) end()
    const oldest = await oldestHeartbeat()
    t.diagnostic(`${ids.length} runs; the oldest heartbeat was ${oldest.toFixed(1)} s old`)
    assert.ok(oldest < MISSED_SECONDS)
    await assertCompleted(db, ids)
    assert.deepEqual((await readFile(file, 'utf8')).trim().split('\n').sort(), ids.map(String).sort())
    for (const worker of workers) assert.deepEqual(lossesIn(worker), [])
  })

  test(`PostgreSQL ${major}: a worker that freezes with the lock of the environment holds nobody up for long`, async (t) => {
    const { db, start, startCalls } = await openBusyEnvironment(t, major, { GANTRY_HEARTBEAT_SECONDS })
    const [sleeper] = await Promise.all([start('worker'), start('worker')])
    const calls = startCalls(20)
    await until('runs complete', MAX_MS, () => calls.actions.size > 40)
    await freezeWithLock(db, sleeper!)
    const frozenAt = await timeOf(db)
    await delay(FROZEN_SECONDS * 1_000)
    const wokenAt = await timeOf(db)
    sleeper!.child.kill('SIGCONT')
    await calls.stop()
    await untilEnded(db, MAX_MS)
    const pause = await longestPause(db, frozenAt, wokenAt)
    t.diagnostic(`${calls.actions.size} runs; for ${pause.toFixed(1)} s none completed`)
    assert.ok(pause < LONGEST_PAUSE_SECONDS)
    await assertCompleted(db, [...calls.actions.values()])
    assert.equal(sleeper!.child.exitCode, null)
  })
}

test('a worker whose machine loses its power or its network holds nobody up for long', async (t) => {
  const { db, settings, start, startCalls } = await openBusyEnvironment(t, '18', { GANTRY_HEARTBEAT_SECONDS })
  const proxy = await startSilentProxy(t, settings)
  await Promise.all([start('worker', { DATABASE_URL: urlOf(proxy.port) }), start('worker')])
  const calls = startCalls(20)
  await until('runs complete', MAX_MS, () => calls.actions.size > 40)
  proxy.silence({ forNewOnes: true })
  const from = await timeOf(db)
  await delay(FROZEN_SECONDS * 1_000)
  const pause = await longestPause(db, from, await timeOf(db))
  await calls.stop()
  t.diagnostic(`${calls.actions.size} runs; for ${pause.toFixed(1)} s none completed`)
  assert.ok(pause < LONGEST_PAUSE_SECONDS)
  await untilEnded(db, MAX_MS)
  await assertCompleted(db, [...calls.actions.values()])
})

async function assertCompleted(db: Database, ids: readonly number[]): Promise<void> {
  const actions = await db.selectFrom('actions').select(['id', 'status', 'status_reason_code']).execute()
  assert.equal(actions.length, ids.length, 'one run for each call')
  assert.deepEqual(
    actions.filter(({ status }) => status !== 'completed'),
    [],
  )
}

/** What a worker says when a job is taken from it, or was. */
function lossesIn(worker: GantryProcess): string[] {
  return problemsIn(worker).filter((message) => /lost|heartbeat|reassigned/.test(message))
}
