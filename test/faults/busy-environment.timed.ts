// Many runs in one environment, whose changes all go through one lock: workers that are alive keep their jobs.
// GANTRY_TEST_LOAD_SECONDS makes the load longer.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import {
  assertCompleted,
  openBusyEnvironment,
  problemsIn,
  startBusyLoop,
  untilEnded,
  watchHeartbeats,
} from '#test/support/busy-environment.ts'
import type { GantryProcess } from '#test/support/process.ts'

const LOAD_SECONDS = Number(process.env.GANTRY_TEST_LOAD_SECONDS ?? 8)
const MAX_MS = 60_000 + LOAD_SECONDS * 6_000
/** A heartbeat is due every five seconds. */
const MISSED_SECONDS = 10

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
}

/** What a worker says when a job is taken from it, or was. */
function lossesIn(worker: GantryProcess): string[] {
  return problemsIn(worker).filter((message) => /lost|heartbeat|reassigned/.test(message))
}
