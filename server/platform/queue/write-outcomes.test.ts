import assert from 'node:assert/strict'
import test from 'node:test'
import { sql } from 'kysely'
import { untilTrue } from '#test/support/until.ts'
import { listDeadLetters } from './dead-letters.ts'
import { countDeadLetters, createTestQueue, type TestQueue } from './test-queue.ts'

const isOpen = sql<{ open: number }>`
  select count(*) as open from queue.job where name = 'test.kept' and state <> 'completed'`

/** Makes the database reject every `operation` on the job with number 3, as a violated constraint would. */
async function rejectJob3(queue: TestQueue['queue'], ...operations: ('complete' | 'fail')[]): Promise<void> {
  await sql`create function reject() returns trigger language plpgsql as
    $$ begin raise check_violation using message = 'job 3 is rejected'; end $$`.execute(queue.db)
  const triggers = {
    complete: sql`create trigger reject_completion before update on queue.job for each row
      when (new.state = 'completed' and new.data ->> 'number' = '3') execute function reject()`,
    // pg-boss deletes a failed job and inserts it again.
    fail: sql`create trigger reject_failure before delete on queue.job for each row
      when (old.data ->> 'number' = '3') execute function reject()`,
  }
  for (const operation of operations) await triggers[operation].execute(queue.db)
}

test('an outcome that the database rejects fails its attempts, and the rest of the batch is written', async (t) => {
  const { queue, work, enqueue, logged } = await createTestQueue(t)
  await rejectJob3(queue, 'complete')
  await work({ 'test.kept': async () => {} }, { pollMs: 60_000 })
  await enqueue('test.kept', 8)
  await untilTrue(async () => (await countDeadLetters(queue)) === 1)
  const [letter] = await listDeadLetters(queue, 1)
  assert.equal(letter!.attempts, 3)
  assert.match(letter!.error!, /job 3 is rejected/)
  const completed = logged.filter((line) => line.outcome === 'completed')
  assert.equal(new Set(completed.map((line) => line.job_id)).size, 7)
  await untilTrue(() => logged.filter((line) => line.level === 'warn').length === 3)
  assert.deepEqual(
    logged.filter((line) => line.level === 'warn').map(({ attempt, outcome }) => ({ attempt, outcome })),
    [1, 2, 3].map((attempt) => ({ attempt, outcome: 'failed' })),
  )
  assert.ok(!logged.some((line) => line.level === 'error'))
})

test('an attempt that can neither be completed nor failed is reported once, and holds up no other', async (t) => {
  const { queue, work, enqueue, logged } = await createTestQueue(t)
  await rejectJob3(queue, 'complete', 'fail')
  const worker = await work({ 'test.kept': async () => {} })
  await enqueue('test.kept', 8)
  await untilTrue(() => logged.some((line) => line.message === 'job outcome could not be written'))
  await untilTrue(async () => (await isOpen.execute(queue.db)).rows[0]!.open === 1)
  await worker.stop({ graceMs: 5_000 })
  assert.equal(logged.filter((line) => line.level === 'error').length, 1)
})
