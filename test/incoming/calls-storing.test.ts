// What is stored of a call, and the locks that it waits for.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import { assertRejected, assertStarted, openCalls } from '#test/support/calls.ts'
import { untilLockWait } from '#test/support/until.ts'
import { createTestTree } from '#test/support/world.ts'

const { db, tree, makeHook, call, requestsOf } = await openCalls({ after })

test('a call with a body of usual size is one row: nothing of it is in the table for large values', async () => {
  const commits = Array.from({ length: 40 }, (_, n) => ({
    id: `${n}`.repeat(20),
    message: 'A commit as any other',
  }))
  assertStarted(await call(await makeHook(), { ref: 'refs/heads/main', commits }))
  const { rows } = await sql<{ bytes: number }>`
    select pg_relation_size(reltoastrelid) as bytes from pg_class where oid = 'hook_requests'::regclass`.execute(
    db,
  )
  assert.equal(rows[0]!.bytes, 0)
})

suite('while somebody holds the lock of a pipeline', () => {
  /** Holds it for as long as `work` takes. */
  const locking = (pipelineId: number, work: () => Promise<void>) =>
    db.transaction().execute(async (trx) => {
      await sql`select from pipelines where id = ${pipelineId} for update`.execute(trx)
      await work()
    })

  test('its calls are unavailable, also those that were sent behind others, and nothing of them is stored', async () => {
    const hook = await makeHook()
    assertStarted(await call(hook, { n: 'before' }))
    await locking(tree.pipelineId, async () => {
      const answers = await Promise.all(Array.from({ length: 200 }, (_, n) => call(hook, { n })))
      for (const answer of answers) assertRejected(answer, 503, 'unavailable')
    })
    assertStarted(await call(hook, { n: 'after' }))
    assert.equal((await requestsOf(hook)).length, 2)
  })

  test('calls of others are stored', async () => {
    const [held, free] = [await makeHook(), await makeHook({}, await createTestTree(db))]
    for (const hook of [held, free]) assertStarted(await call(hook, { n: 'before' }))
    let waiting: ReturnType<typeof call> | undefined
    await locking(tree.pipelineId, async () => {
      waiting = call(held, { n: 1 })
      await untilLockWait(db)
      assertStarted(await call(free, { n: 1 }))
    })
    assertStarted(await waiting!)
  })
})
