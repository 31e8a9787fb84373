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
        { group: ({ target_id }) => groups[target_id] ?? null },
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

test('it leaves a job as a fetch of pg-boss does, at first and again', async (t) => {
  const { queue, add } = await openQueue(t)
  await add(null, null)
  const read = async () => {
    const { rows } = await sql<{ job: unknown }>`
      select to_jsonb(job) - 'id' - 'data' - 'start_after' - 'created_on' - 'keep_until' - 'started_on' - 'heartbeat_on'
        || jsonb_build_object('started', started_on is not null, 'beats', heartbeat_on is not null) as job
      from queue.job where name = ${JOB}`.execute(queue.db)
    assert.equal(rows.length, 2)
    assert.deepEqual(rows[0]!.job, rows[1]!.job)
  }
  for (const attempt of [0, 1]) {
    const [own] = await fetchJobs(queue, JOB, 'm1', 1)
    const [theirs] = await queue.boss.fetch(JOB, { batchSize: 1 })
    assert.equal(own!.retryCount, attempt)
    assert.equal(theirs!.retryCount, attempt)
    await read()
    await sql`update queue.job set state = 'retry' where name = ${JOB}`.execute(queue.db)
  }
})
