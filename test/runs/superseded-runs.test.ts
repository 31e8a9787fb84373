// The queue policy latest, where thousands of runs wait: they are skipped in several passes, and none of them starts in between.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import { ASKED, BUSY, openApprovals, QUEUED } from '#test/support/approvals.ts'
import { assertStarted } from '#test/support/calls.ts'
import { copyRuns } from '#test/support/copy-runs.ts'
import { reasonOf } from '#test/support/runs.ts'
import { createTestTree, type TestTree } from '#test/support/world.ts'

const world = await openApprovals({ after })
const { db, openTree, setPipeline, makeHook, call, schedule, prepare, release, stateOf, approve } = world

const SUPERSEDED = 'A newer run has superseded the action.'

/** How many runs of the pipeline have each state. */
async function statesOf(at: TestTree): Promise<Record<string, number>> {
  const { rows } = await sql<{ state: string; n: number }>`
    select status || '/' || status_reason_code as state, count(*) as n from actions
    where pipeline_id = ${at.pipelineId} group by 1`.execute(db)
  return Object.fromEntries(rows.map(({ state, n }) => [state, n]))
}

async function isDone(at: TestTree): Promise<boolean> {
  const rows = db.selectFrom('superseded_pipelines').where('pipeline_id', '=', at.pipelineId)
  return (await rows.selectAll().executeTakeFirst()) === undefined
}

suite('with the queue policy latest', () => {
  test('an approval skips a part of the older runs; the others cannot be approved until they are skipped', async () => {
    const { at, admin } = await openTree()
    await setPipeline(at, { queue_policy: 'latest' })
    const hook = await makeHook({}, at)
    const first = assertStarted(await call(hook))
    await schedule([first])
    await copyRuns(db, first, 2_999)
    const last = assertStarted(await call(hook))
    const newest = assertStarted(await call(hook))
    await schedule([last, newest])
    await prepare()
    assert.equal((await approve(newest, admin)).status, 200)
    assert.equal(await stateOf(newest), QUEUED)
    const between = await statesOf(at)
    assert.ok(between['waiting/WAITING_APPROVAL']! > 2_000, JSON.stringify(between))
    assert.ok(between['skipped/SKIPPED']! > 0)
    assert.equal(await stateOf(last), ASKED)
    assert.equal(await reasonOf(approve(last, admin)), SUPERSEDED)
    await release()
    assert.deepEqual(await statesOf(at), { 'queued/QUEUED': 1, 'skipped/SKIPPED': 3_001 })
    assert.ok(await isDone(at))
  })

  /** One run that has the only slot, thousands that wait for it, and the policy since then. */
  async function manyWaiting(count: number) {
    const at = await createTestTree(db)
    await setPipeline(at, { max_parallel_actions: 1 })
    const hook = await makeHook({}, at)
    const ids = [assertStarted(await call(hook)), assertStarted(await call(hook))]
    await schedule(ids)
    assert.deepEqual(await Promise.all(ids.map(stateOf)), [QUEUED, BUSY])
    await copyRuns(db, ids[1]!, count)
    await setPipeline(at, { queue_policy: 'latest' })
    await db
      .updateTable('actions')
      .set({ status: 'in-progress', status_reason_code: 'IN_PROGRESS', started_at: new Date() })
      .where('id', '=', ids[0]!)
      .execute()
    return { at, hook, running: ids[0]! }
  }

  test('a call skips a part of those that wait for a slot; the others get none, and a newer call comes first', async () => {
    const { at, hook, running } = await manyWaiting(2_000)
    const first = assertStarted(await call(hook))
    await schedule([first])
    assert.ok(!(await isDone(at)))
    const second = assertStarted(await call(hook))
    await schedule([second])
    const ended = sql`status = 'failed', status_reason_code = 'FAILED', completed_at = now()`
    await sql`update targets set ${ended} where action_id = ${running}`.execute(db)
    await sql`update actions set ${ended}, has_place = false where id = ${running}`.execute(db)
    await world.pass(at)
    assert.equal(await stateOf(second), QUEUED)
    await release()
    assert.deepEqual(await statesOf(at), { 'failed/FAILED': 1, 'queued/QUEUED': 1, 'skipped/SKIPPED': 2_002 })
    assert.ok(await isDone(at))
  })

  test('runs that people started are not superseded', async () => {
    const { at, hook } = await manyWaiting(600)
    const byHand = await world.start(at)
    const newest = assertStarted(await call(hook))
    await schedule([newest])
    await release()
    assert.deepEqual([await stateOf(byHand), await stateOf(newest)], [BUSY, BUSY])
  })
})
