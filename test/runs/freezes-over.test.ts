// When freezes are over: held runs start by themselves, in order, or are outdated. On the real database, pass by pass.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import { makeDuePasses } from '#engine/gates/release-loop.ts'
import { cancelAction } from '#engine/scheduling/cancel.ts'
import { assertStarted, withVariables } from '#test/support/calls.ts'
import { copyRuns } from '#test/support/copy-runs.ts'
import { BUSY, HELD, NOW, openFreezes, QUEUED, soon } from '#test/support/freezes.ts'
import { refused, started } from '#test/support/runs.ts'
import { createTestTree, type TestTree } from '#test/support/world.ts'

const world = await openFreezes({ after })
const {
  db,
  makeHook,
  call,
  run,
  rowOf,
  schedule,
  enqueueTargets,
  onError,
  release,
  stateOf,
  freezeAt,
  freezeOrganization,
  remove,
  override,
  start,
  limit,
  limitServers,
  policy,
  isForgotten,
} = world

suite('a freeze', () => {
  test('that is removed lets held runs start, oldest first, while slots are free', async () => {
    const at = await createTestTree(db)
    await limit(at, 1)
    const { id: freezeId } = await started(freezeAt(at))
    const ids = [await start(at), await start(at), await start(at)]
    for (const id of ids) assert.equal(await stateOf(id), HELD)
    assert.equal((await remove(at, freezeId)).status, 204)
    await release()
    assert.deepEqual(await Promise.all(ids.map(stateOf)), [QUEUED, BUSY, BUSY])
    assert.ok(await isForgotten(at))
  })

  test('that is over lets held runs start; one that begins later does not hold yet', async () => {
    const at = await createTestTree(db)
    const { id: freezeId } = await started(freezeAt(at, { ...NOW, ends_at: soon(60) }))
    const id = await start(at)
    assert.equal(await stateOf(id), HELD)
    await started(freezeAt(at, { ...NOW, starts_at: soon(30) }))
    await sql`update freezes set ends_at = now() where id = ${freezeId}`.execute(db)
    await release()
    assert.equal(await stateOf(id), QUEUED)
  })

  test('holds while another one is in force', async () => {
    const at = await createTestTree(db)
    const first = await started(freezeAt(at))
    const second = await started(freezeOrganization(at))
    const id = await start(at)
    await remove(at, first.id)
    await release()
    assert.equal(await stateOf(id), HELD)
    await remove(at, second.id)
    await release()
    assert.equal(await stateOf(id), QUEUED)
  })

  test('does not make calls wait behind what it holds, once it is over', async () => {
    const at = await createTestTree(db)
    await limit(at, 1)
    const hook = await makeHook(withVariables({ name: 'branch' }), at)
    await sql`
      insert into actions (environment_id, pipeline_id, type, status, status_reason_code, trigger_type, gate)
      select ${at.environmentId}, ${at.pipelineId}, 'deploy', 'waiting', 'WAITING_FREEZE', 'manual', 'freeze'
      from generate_series(1, 100)`.execute(db)
    const id = assertStarted(await call(hook, { branch: 'main' }))
    assert.equal(await stateOf(id), 'queued/QUEUED')
    assert.equal((await rowOf(id)).branch, 'main')
    assert.equal(await world.jobsFor(id), 1)
  })

  test('of ten thousand runs: new ones wait behind them, and they leave in order', async () => {
    const at = await createTestTree(db)
    await limit(at, 1)
    const { id: freezeId } = await started(freezeAt(at))
    const first = await start(at)
    await sql`
      insert into actions (environment_id, pipeline_id, type, status, status_reason_code, trigger_type, gate)
      select ${at.environmentId}, ${at.pipelineId}, 'deploy', 'waiting', 'WAITING_FREEZE', 'manual', 'freeze'
      from generate_series(1, 10000)`.execute(db)
    await remove(at, freezeId)
    // Before anything was released.
    const last = await start(at)
    assert.equal(await stateOf(first), QUEUED)
    assert.equal(await stateOf(last), BUSY)
    await release()
    const { rows } = await sql<{ gate: string | null; n: number }>`
      select gate, count(*) as n from actions where pipeline_id = ${at.pipelineId} group by gate`.execute(db)
    assert.deepEqual(rows, [{ gate: null, n: 10_002 }])
    assert.ok(await isForgotten(at))
  })
})

/** One pass of the loop that releases, as if its process had ended after that. */
async function releaseOnce(): Promise<void> {
  const stopping = new AbortController()
  const onMoves = () => stopping.abort()
  await makeDuePasses({ db, enqueueTargets, onMoves, onError }, stopping.signal)
}

test('every environment starts its first run before another one has released all of its own', async () => {
  const held: { at: TestTree; id: number; freezeId: number }[] = []
  for (let n = 0; n < 4; n++) {
    const at = await createTestTree(db)
    await limit(at, 1)
    const freeze = await started(freezeAt(at))
    held.push({ at, id: await start(at), freezeId: freeze.id })
  }
  const [large] = held
  const copies = await copyRuns(db, large!.id, 5_000)
  for (const { at, freezeId } of held) await remove(at, freezeId)
  await release()
  assert.deepEqual(
    await Promise.all(held.map(({ id }) => stateOf(id))),
    held.map(() => QUEUED),
  )
  const last = await firstEvent(copies.at(-1)!, 'WAITING_CONCURRENCY_PIPELINE')
  for (const { id } of held) assert.ok((await firstEvent(id, 'QUEUED')) < last)
})

/** The id of the event with which the run got this reason, after it had waited. */
async function firstEvent(actionId: number, reason: string): Promise<number> {
  const { rows } = await sql<{ id: number }>`
    select min(id) as id from events
    where action_id = ${actionId} and status_reason_code = ${reason} and previous_status = 'waiting'`.execute(
    db,
  )
  return rows[0]!.id
}

suite('what continues when a freeze is over', () => {
  async function held(at: TestTree, body: object, calls: string[]) {
    const hook = await makeHook(withVariables({ name: 'branch' }), at)
    const freeze = await started(freezeAt(at, { ...NOW, ...body }))
    const ids: number[] = []
    for (const [index, branch] of calls.entries()) {
      const payload = branch === '' ? { n: index } : { branch, n: index }
      ids.push(assertStarted(await call(hook, payload)))
    }
    await limit(at, 0)
    await limitServers(at, 0)
    await schedule(ids)
    return { freeze, ids, hook }
  }

  test('latest: of each branch the newest run of a hook; runs by people all continue', async () => {
    const at = await createTestTree(db)
    const { freeze, ids } = await held(at, { when_over: 'latest' }, [
      'main',
      'refs/heads/main',
      'next',
      'main',
    ])
    const byHand = await start(at, { source_ref: 'main' })
    assert.deepEqual(
      await Promise.all(ids.map(stateOf)),
      ids.map(() => HELD),
    )
    await remove(at, freeze.id)
    await release()
    assert.deepEqual(await Promise.all(ids.map(stateOf)), [
      'skipped/SKIPPED_OUTDATED',
      'skipped/SKIPPED_OUTDATED',
      QUEUED,
      QUEUED,
    ])
    assert.equal(await stateOf(byHand), QUEUED)
    await release()
    assert.ok(await isForgotten(at))
  })

  test('latest, of thousands: the newest starts first, and no older one instead, even if it is canceled', async () => {
    const at = await createTestTree(db)
    const { freeze, ids, hook } = await held(at, { when_over: 'latest' }, ['main', 'next'])
    const copies = await copyRuns(db, ids[0]!, 2_999)
    const newest = assertStarted(await call(hook, { branch: 'main' }))
    await schedule([newest])
    await remove(at, freeze.id)
    await releaseOnce()
    assert.deepEqual(await Promise.all([ids[1]!, newest, copies.at(-1)!].map(stateOf)), [
      QUEUED,
      QUEUED,
      HELD,
    ])
    await cancelAction({ db, enqueueTargets }, newest, at.owner)
    await release()
    const { rows } = await sql<{ reason: string; n: number }>`
      select status_reason_code as reason, count(*) as n from actions
      where pipeline_id = ${at.pipelineId} and branch = 'main' group by 1 order by 1`.execute(db)
    assert.deepEqual(rows, [
      { reason: 'FAILED_CANCELLED', n: 1 },
      { reason: 'SKIPPED_OUTDATED', n: 3_000 },
    ])
    assert.ok(await isForgotten(at))
  })

  test('latest: a run that was canceled while it was held outdates none', async () => {
    const at = await createTestTree(db)
    const { freeze, ids } = await held(at, { when_over: 'latest' }, ['main', 'main'])
    await cancelAction({ db, enqueueTargets }, ids[1]!, at.owner)
    await remove(at, freeze.id)
    await release()
    assert.equal(await stateOf(ids[0]!), QUEUED)
  })

  test('all: every one', async () => {
    const at = await createTestTree(db)
    const { freeze, ids } = await held(at, {}, ['main', 'main'])
    await remove(at, freeze.id)
    await release()
    assert.deepEqual(await Promise.all(ids.map(stateOf)), [QUEUED, QUEUED])
  })

  test('where freezes overlap, all wins, also when that one began later and is over first', async () => {
    const at = await createTestTree(db)
    const { freeze, ids } = await held(at, { when_over: 'latest' }, ['main', 'main'])
    const other = await started(freezeAt(at))
    await release()
    await remove(at, other.id)
    await release()
    await remove(at, freeze.id)
    await release()
    assert.deepEqual(await Promise.all(ids.map(stateOf)), [QUEUED, QUEUED])
  })

  test('a run is outdated when a newer one of its branch has started; replays and other branches are not', async () => {
    const at = await createTestTree(db)
    const { freeze, ids } = await held(at, {}, ['main', 'next', 'main'])
    assert.equal((await override(at, ids[2]!)).status, 200)
    assert.equal(await stateOf(ids[2]!), QUEUED)
    await db
      .updateTable('actions')
      .set({ status: 'in-progress', status_reason_code: 'IN_PROGRESS', started_at: new Date() })
      .where('id', '=', ids[2]!)
      .execute()
    await remove(at, freeze.id)
    await release()
    assert.equal(await stateOf(ids[0]!), 'skipped/SKIPPED_OUTDATED')
    assert.equal(await stateOf(ids[1]!), QUEUED)
  })

  test('with the queue policy latest, a held run is superseded by a newer one', async () => {
    const at = await createTestTree(db)
    await policy(at, 'latest')
    const { ids } = await held(at, {}, ['main', 'main'])
    assert.deepEqual(await Promise.all(ids.map(stateOf)), ['skipped/SKIPPED', HELD])
  })

  test('with the queue policy reject, a held run counts as unfinished', async () => {
    const at = await createTestTree(db)
    await policy(at, 'reject')
    await limit(at, 1)
    await started(freezeAt(at))
    await start(at)
    await refused(run({}, { at }), 409, 'conflict')
  })
})
