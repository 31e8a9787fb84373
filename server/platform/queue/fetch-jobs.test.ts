import assert from 'node:assert/strict'
import test from 'node:test'
import { sql } from 'kysely'
import { fetchJobs } from './fetch-jobs.ts'
import { createTestQueue } from './test-queue.ts'

const JOB = 'targets.run'

async function openQueue(t: test.TestContext) {
  const { queue } = await createTestQueue(t)
  const add = (...groups: (string | null)[]) =>
    queue.db.transaction().execute((trx) =>
      queue.enqueue(
        trx,
        JOB,
        groups.map((_, index) => ({ target_id: index })),
        ({ target_id }) => groups[target_id] ?? null,
      ),
    )
  const idsOf = (jobs: { data: unknown }[]) =>
    jobs.map(({ data }) => (data as { target_id: number }).target_id).sort()
  return { queue, add, idsOf }
}

test('a worker fetches the jobs of its group, and those of none', async (t) => {
  const { queue, add, idsOf } = await openQueue(t)
  await add('m1', 'm2', null, 'm1')
  assert.deepEqual(idsOf(await fetchJobs(queue, JOB, 'm1', 10)), [0, 2, 3])
  assert.deepEqual(idsOf(await fetchJobs(queue, JOB, 'm1', 10)), [])
  assert.deepEqual(idsOf(await fetchJobs(queue, JOB, 'm2', 10)), [1])
})

test('a worker without a group fetches all', async (t) => {
  const { queue, add, idsOf } = await openQueue(t)
  await add('m1', null, 'm2')
  assert.deepEqual(idsOf(await fetchJobs(queue, JOB, null, 10)), [0, 1, 2])
})

test('it fetches no more than it asked for, and nothing that is not due', async (t) => {
  const { queue, add, idsOf } = await openQueue(t)
  await add(null, null, null)
  assert.equal((await fetchJobs(queue, JOB, 'm1', 2)).length, 2)
  await sql`update queue.job set start_after = queue.job_now() + interval '1 hour' where state < 'active'`.execute(
    queue.db,
  )
  assert.deepEqual(idsOf(await fetchJobs(queue, JOB, 'm1', 2)), [])
})
