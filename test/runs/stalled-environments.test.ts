// What counts as a stalled environment: work waits, and nothing has completed for ten minutes.
import assert from 'node:assert/strict'
import { after, beforeEach, suite, test } from 'node:test'
import { sql } from 'kysely'
import { findStalledEnvironments } from '#model/actions/stalled-environments.ts'
import { openTestApp } from '#test/support/harness.ts'
import { createAction, createTestTree } from '#test/support/world.ts'

const { db } = await openTestApp({ after })
const tree = await createTestTree(db)
const other = await createTestTree(db)

const ago = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString()

/** A run that has waited for so long. */
async function addWaiting(minutes: number, status: 'queued' | 'waiting' = 'waiting'): Promise<void> {
  await createAction(
    db,
    { ...tree, serverIds: [] },
    {
      status,
      status_reason_code: status === 'queued' ? 'QUEUED' : 'WAITING_CONCURRENCY_PIPELINE',
      started_at: null,
      completed_at: null,
      updated_at: ago(minutes),
    },
  )
}

/** A run whose step started so long ago; the step may take ten minutes, or `limit` seconds. */
async function addRunning(minutes: number, limit?: number): Promise<void> {
  const { rows } = await sql<{ id: number }>`
    update pipeline_steps set timeout_seconds = ${limit ?? 600}
    where pipeline_id = ${tree.pipelineId} and position = 1 returning id`.execute(db)
  const started = { started_at: ago(minutes), updated_at: ago(minutes) }
  const state = { status: 'in-progress' as const, status_reason_code: 'PENDING' as const, completed_at: null }
  const step = { order: 1, step_id: rows[0]!.id, name: 'one', status: 'in-progress', ...started }
  await createAction(
    db,
    tree,
    { ...state, ...started },
    { ...state, ...started, steps: JSON.stringify([step]) },
  )
}

const addEnded = (minutes: number, at = tree) =>
  createAction(db, at, { completed_at: ago(minutes), updated_at: ago(minutes) })

async function removeRuns(): Promise<void> {
  await sql`delete from targets`.execute(db)
  await sql`delete from actions`.execute(db)
}

const isStalled = async () => (await findStalledEnvironments(db)).length > 0

suite('stalled environments', () => {
  beforeEach(removeRuns)

  test('one without work is not stalled, however long nothing has completed', async () => {
    await addEnded(900)
    assert.equal(await isStalled(), false)
  })

  test('one where runs wait and nothing completes is, since the last completion', async () => {
    await addWaiting(40)
    await addWaiting(5, 'queued')
    await addEnded(15)
    await addEnded(1, other)
    const [found, ...more] = await findStalledEnvironments(db)
    assert.deepEqual(more, [])
    assert.equal(found!.environment_id, tree.environmentId)
    assert.equal(found!.waiting, 2)
    assert.ok(Math.abs(Date.parse(found!.since) - Date.parse(ago(15))) < 30_000, found!.since)
  })

  test('a backlog that moves is not a stall, nor are runs that have waited for a few minutes', async () => {
    await addWaiting(9)
    await addWaiting(9, 'queued')
    assert.equal(await isStalled(), false)
    await addWaiting(40)
    assert.equal(await isStalled(), true)
    await addEnded(2)
    assert.equal(await isStalled(), false)
  })

  test('runs may wait behind a step within its time limit, and not behind one that is past it', async () => {
    await addWaiting(40)
    await addRunning(20, 3_600)
    assert.equal(await isStalled(), false)
    await removeRuns()
    await addWaiting(40)
    await addRunning(20)
    assert.equal(await isStalled(), true)
  })

  test('a run that no worker has looked at counts, whatever else runs', async () => {
    await addRunning(20, 3_600)
    await addWaiting(11, 'queued')
    assert.deepEqual(
      (await findStalledEnvironments(db)).map(({ waiting }) => waiting),
      [1],
    )
  })
})
