// Many runs in one environment, whose changes all go through one lock: a worker that freezes, or whose machine goes away, holds
// the others up only briefly. GANTRY_TEST_LOAD_SECONDS makes the load longer.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import {
  assertCompleted,
  freezeWithLock,
  longestPause,
  openBusyEnvironment,
  timeOf,
  untilEnded,
  urlOf,
} from '#test/support/busy-environment.ts'
import { startSilentProxy } from '#test/support/silent-proxy.ts'
import { until } from '#test/support/until.ts'

const LOAD_SECONDS = Number(process.env.GANTRY_TEST_LOAD_SECONDS ?? 8)
const GANTRY_HEARTBEAT_SECONDS = '10'
/** Longer than jobs then wait for their worker. */
const FROZEN_SECONDS = Math.max(15, 1.5 * LOAD_SECONDS)
const MAX_MS = 60_000 + LOAD_SECONDS * 6_000
const LONGEST_PAUSE_SECONDS = 8

for (const major of ['15', '18'])
  test(`PostgreSQL ${major}: a worker that freezes with the lock of the environment delays the others only briefly`, async (t) => {
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

test('a worker whose machine loses its power or its network delays the others only briefly', async (t) => {
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
