// No target is stuck forever: one that cannot be prepared fails, one without a job gets another.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { sql } from 'kysely'
import { loadRun } from '#engine/runner/load-run.ts'
import { createEnqueue, sweepSlots } from '#engine/scheduling/jobs.ts'
import { openQueue } from '#platform/queue/open-queue.ts'
import { openTestApp } from '#test/support/harness.ts'
import { later } from '#test/support/later.ts'
import { createAction, createTestTree } from '#test/support/world.ts'

const file = { after }
const { db, box, settings } = await openTestApp({ after: (end: () => Promise<void>) => later(file, end) })
const queue = await openQueue({ settings, onError: () => {} })
later(file, () => queue.close())
const enqueue = createEnqueue(queue)

async function targetIdOf(actionId: number): Promise<number> {
  const target = await db
    .selectFrom('targets')
    .select('id')
    .where('action_id', '=', actionId)
    .orderBy('id')
    .executeTakeFirstOrThrow()
  return target.id
}

async function jobsOf(targetId: number): Promise<number> {
  const { rows } = await sql`
    select from queue.job where name = 'targets.run' and data ->> 'target_id' = ${String(targetId)}`.execute(
    db,
  )
  return rows.length
}

test('a run whose secrets cannot be decrypted is unreadable, and the message does not leak them', async () => {
  const tree = await createTestTree(db)
  const run = await loadRun(db, box, await targetIdOf(await createAction(db, tree)))
  assert.ok('kind' in run)
  assert.match(run.message, /^Cannot prepare the run: /)
})

test('a target that should run and has no job gets one, once', async () => {
  const tree = await createTestTree(db)
  const id = await createAction(db, tree, {
    status: 'in-progress',
    status_reason_code: 'IN_PROGRESS',
    completed_at: null,
  })
  const targetId = await targetIdOf(id)
  const setAge = (age: string) =>
    sql`
      update targets set status = 'in-progress', status_reason_code = 'IN_PROGRESS', completed_at = null,
        updated_at = now() - ${age}::interval where id = ${targetId}`.execute(db)
  await setAge('30 seconds')
  await sweepSlots(db, enqueue.targets, assert.ifError)
  assert.equal(await jobsOf(targetId), 0)
  await setAge('2 minutes')
  await sweepSlots(db, enqueue.targets, assert.ifError)
  await sweepSlots(db, enqueue.targets, assert.ifError)
  assert.equal(await jobsOf(targetId), 1)
})

test('an action that waits for a free slot gets it, if it has waited for a while', async () => {
  const tree = await createTestTree(db)
  const notStarted = { started_at: null, completed_at: null }
  const id = await createAction(
    db,
    tree,
    { status: 'waiting', status_reason_code: 'WAITING_CONCURRENCY_PIPELINE', ...notStarted },
    { status: 'pending', status_reason_code: 'PENDING', ...notStarted },
  )
  const isPlaced = async () => {
    await sweepSlots(db, enqueue.targets, assert.ifError)
    const { rows } = await sql<{
      has_place: boolean
    }>`select has_place from actions where id = ${id}`.execute(db)
    return rows[0]!.has_place
  }
  assert.equal(await isPlaced(), false)
  await sql`update actions set updated_at = now() - interval '11 seconds' where id = ${id}`.execute(db)
  assert.equal(await isPlaced(), true)
})

test('a target whose worker is gone does not wait behind jobs of targets that have ended', async () => {
  const notStarted = { started_at: null, completed_at: null }
  const tree = await createTestTree(db)
  const endedId = await targetIdOf(await createAction(db, tree))
  const id = await createAction(
    db,
    tree,
    { status: 'in-progress', status_reason_code: 'IN_PROGRESS', completed_at: null },
    { status: 'queued', status_reason_code: 'QUEUED', ...notStarted },
  )
  const targetId = await targetIdOf(id)
  const ended = Array.from({ length: 500 }, () => ({ targetId: endedId, worker: 'gone' }))
  await db.transaction().execute((trx) => enqueue.targets(trx, [...ended, { targetId, worker: 'gone' }]))
  await sweepSlots(db, enqueue.targets, assert.ifError)
  const { rows } = await sql`
    select from queue.job where group_id = 'gone' and (data ->> 'target_id')::bigint = ${targetId}`.execute(
    db,
  )
  assert.equal(rows.length, 0)
})
