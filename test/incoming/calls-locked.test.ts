// Calls whose environment is locked, by a person or by a process that is stuck.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { sql } from 'kysely'
import { lockScheduling } from '#engine/scheduling/scheduling-pass.ts'
import { assertRejected, assertStarted, openCalls } from '#test/support/calls.ts'
import { createTestTree } from '#test/support/world.ts'

const { db, makeHook, call, setPipeline, actionsOf } = await openCalls({ after })

const ANSWERED_MS = 6_000
const CALLS = 30

test('they are refused within seconds and those of other environments are accepted, in the same moment', async () => {
  const places = [await createTestTree(db), await createTestTree(db)]
  for (const at of places) await setPipeline(at, { queue_policy: 'latest' })
  const [locked, free] = [await makeHook({}, places[0]), await makeHook({}, places[1])]
  await db.transaction().execute(async (trx) => {
    await lockScheduling(trx, [places[0]!.environmentId])
    // As someone at a terminal would hold it, for longer than a process may.
    await sql`set local idle_in_transaction_session_timeout = 0`.execute(trx)
    const send = async (hook: typeof locked, n: number) => {
      const began = performance.now()
      const answer = await call(hook, { n })
      return { answer, took: performance.now() - began }
    }
    const numbers = Array.from({ length: CALLS }, (_, n) => n)
    const refused = Promise.all(numbers.map((n) => send(locked, n)))
    const accepted = await Promise.all(numbers.map((n) => send(free, n)))
    for (const { answer, took } of accepted) {
      assertStarted(answer)
      assert.ok(took < 2_000, `accepted after ${took} ms`)
    }
    for (const { answer, took } of await refused) {
      assertRejected(answer, 503, 'unavailable')
      assert.ok(took < ANSWERED_MS, `refused after ${took} ms`)
    }
  })
  assert.equal((await actionsOf(locked)).length, 0)
  assertStarted(await call(locked))
})
