import assert from 'node:assert/strict'
import test from 'node:test'
import { sql } from 'kysely'
import { addingJob, wakingWorkers } from './job-sql.ts'
import { createTestQueue } from './test-queue.ts'

const PAYLOAD = `jsonb_build_object('action_ids', jsonb_build_array(7))`

test('it is fetched and run at once like any other', async (t) => {
  const { queue, work } = await createTestQueue(t)
  const ran = Promise.withResolvers<number[]>()
  await work({ 'actions.run': async ({ action_ids }) => ran.resolve(action_ids) }, { pollMs: 60_000 })
  const statement = `with ${addingJob('actions.run', PAYLOAD)} select ${wakingWorkers('actions.run')}`
  await sql.raw(statement).execute(queue.db)
  assert.deepEqual(await ran.promise, [7])
})

test('without a payload there is no job', async (t) => {
  const { queue } = await createTestQueue(t)
  await sql.raw(`with ${addingJob('actions.run', 'null::jsonb')} select 1`).execute(queue.db)
  const { rows } = await sql`select 1 from queue.job`.execute(queue.db)
  assert.equal(rows.length, 0)
})
