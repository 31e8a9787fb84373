// Before people can approve runs, workers find out what they ship: whose turn it is, and what a host that does not answer costs.
import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import { prepareDue } from '#engine/gates/approval-loop.ts'
import { createTurns } from '#engine/gates/claim-due.ts'
import { createRemoveOldPins } from '#engine/gates/old-pins.ts'
import { lookAtStale } from '#engine/gates/stale-approvals.ts'
import { ASKED, openApprovals, QUEUED, tip } from '#test/support/approvals.ts'
import { assertStarted } from '#test/support/calls.ts'
import { freePort } from '#test/support/ports.ts'
import { started } from '#test/support/runs.ts'
import { createAction, createTestTree, type TestTree } from '#test/support/world.ts'

const world = await openApprovals({ after })
const { db, call, makeHook, openTree, schedule, start, startByHook, prepare, stateOf, rowOf } = world
const { approvalOf, approve, cancel, goLive, mirrors, repositories, run } = world
const { signal } = new AbortController()

/** Runs that nothing has looked at, oldest first. */
async function due(at: TestTree, count: number): Promise<number[]> {
  const ids: number[] = []
  const waiting = { status: 'waiting', status_reason_code: 'WAITING_APPROVAL', gate: 'approval' } as const
  for (let made = 0; made < count; made++)
    ids.push(await createAction(db, at, { ...waiting, completed_at: null, started_at: null }))
  await sql`
    insert into approval_requests (action_id, environment_id, pipeline_id)
    select id, environment_id, pipeline_id from actions where id = any(${ids}::bigint[])`.execute(db)
  return ids
}
const nothingDue = () => sql`update approval_requests set due_at = null where due_at is not null`.execute(db)

const ONE = { requests: 'approval_requests', atOnce: 1 } as const
const THREE = { ...ONE, atOnce: 3 }

suite('the turns of runs to prepare', () => {
  test('go from application to application, however many runs one of them has', async () => {
    await nothingDue()
    const [many, few] = [await createTestTree(db), await createTestTree(db)]
    const [, middle, newest] = await due(many, 3)
    const [only] = await due(few, 1)
    const turns = createTurns(db, ONE)
    const first = await turns.next()
    const second = await turns.next()
    assert.deepEqual([first?.actionIds, second?.actionIds], [[newest], [only]])
    assert.equal(await turns.next(), undefined, 'one at a time of each application')
    turns.done(first!)
    assert.deepEqual((await turns.next())?.actionIds, [middle])
  })

  test('come round: those that have had theirs wait for the others', async () => {
    await nothingDue()
    const trees = [await createTestTree(db), await createTestTree(db), await createTestTree(db)]
    for (const tree of trees) await due(tree, 2)
    const turns = createTurns(db, ONE)
    const taken: number[] = []
    for (let turn = 0; turn < 6; turn++) {
      const claim = (await turns.next())!
      taken.push(trees.findIndex(({ pipelineId }) => pipelineId === claim.pipelineId))
      turns.done(claim)
    }
    assert.deepEqual(taken, [0, 1, 2, 0, 1, 2])
  })

  test('begin with the run that a person looks at, and what one process has claimed is not due for others', async () => {
    await nothingDue()
    const tree = await createTestTree(db)
    const [oldest, , newest] = await due(tree, 3)
    await lookAtStale(db, oldest!)
    const [turns, others] = [createTurns(db, ONE), createTurns(db, ONE)]
    assert.deepEqual((await turns.next())?.actionIds, [oldest])
    assert.deepEqual((await others.next())?.actionIds, [newest])
    // The lease has ended: its process is gone.
    await sql`
      update approval_requests set due_at = now() - interval '1 second' where action_id = ${newest}`.execute(
      db,
    )
    assert.deepEqual((await createTurns(db, ONE).next())?.actionIds, [newest])
  })

  test('take some runs of a pipeline together, the newest first, and those of others in between', async () => {
    await nothingDue()
    const [many, few] = [await createTestTree(db), await createTestTree(db)]
    const [first, second, ...newest] = await due(many, 5)
    const [only] = await due(few, 1)
    const turns = createTurns(db, THREE)
    const taken: number[][] = []
    for (let turn = 0; turn < 3; turn++) {
      const claim = (await turns.next())!
      taken.push(claim.actionIds)
      turns.done(claim)
    }
    assert.deepEqual(taken, [newest.toReversed(), [only], [second, first]])
    assert.equal(await turns.next(), undefined)
  })

  test('leave out a pipeline that yields, except for a run that a person looks at', async () => {
    await nothingDue()
    const [busy, quiet] = [await createTestTree(db), await createTestTree(db)]
    const [oldest, ...others] = await due(busy, 6)
    let now = 0
    const turns = createTurns(db, THREE, () => now)
    // However long this test takes, they have just arrived.
    await sql`update approval_requests set created_at = now() + interval '1 hour' where due_at is not null`.execute(
      db,
    )
    const claim = (await turns.next())!
    assert.equal(claim.arriving, 3)
    turns.yield(claim, 1_000)
    turns.done(claim)
    assert.equal(await turns.next(), undefined)
    const [other] = await due(quiet, 1)
    assert.deepEqual((await turns.next())?.actionIds, [other])
    await lookAtStale(db, oldest!)
    const watched = (await turns.next())!
    assert.deepEqual(watched.actionIds, [oldest])
    turns.done(watched)
    now = 1_000
    assert.deepEqual((await turns.next())?.actionIds, [others[1], others[0]])
  })

  test('never let a pipeline wait for long, however long its runs took', async () => {
    await nothingDue()
    await due(await createTestTree(db), 4)
    let now = 0
    const turns = createTurns(db, THREE, () => now)
    const claim = (await turns.next())!
    turns.yield(claim, 600_000)
    turns.done(claim)
    now = 5_000
    assert.equal((await turns.next())?.actionIds.length, 1)
  })

  test('pass over an application whose host does not answer, for a while', async () => {
    await nothingDue()
    await due(await createTestTree(db), 2)
    let now = 0
    const turns = createTurns(db, ONE, () => now)
    const claim = (await turns.next())!
    turns.rest(claim)
    turns.done(claim)
    assert.equal(await turns.next(), undefined)
    now = 60_000
    assert.notEqual(await turns.next(), undefined)
  })
})

suite('a run whose commit is known', () => {
  test('waits while its host does not answer, says so, and is approved afterward', async () => {
    const { at, admin } = await openTree()
    const id = await start(at)
    // As on another machine: the mirror there does not have it.
    await rm(join(mirrors, String(at.applicationId)), { recursive: true })
    const setRepository = (address: string) =>
      db.updateTable('applications').set({ repository: address }).where('id', '=', at.applicationId).execute()
    const { repository } = await db
      .selectFrom('applications')
      .select('repository')
      .where('id', '=', at.applicationId)
      .executeTakeFirstOrThrow()
    await setRepository(`http://127.0.0.1:${await freePort()}/shop.git`)
    await lookAtStale(db, id)
    await prepare()
    assert.equal(await stateOf(id), ASKED)
    const { state, details } = await approvalOf(id, admin)
    assert.deepEqual(
      [state, details.is_preparing, details.problem],
      ['closed', true, '127.0.0.1 does not accept connections.'],
    )
    await setRepository(repository!)
    await sql`update approval_requests set due_at = now() where action_id = ${id}`.execute(db)
    await prepare()
    assert.equal((await approvalOf(id, admin)).details.problem, null)
    assert.equal((await approve(id, admin)).status, 200)
    assert.equal(await stateOf(id), QUEUED)
  })

  test('that was not found before ends when its host does not answer', async () => {
    const { at } = await openTree()
    const address = `http://127.0.0.1:${await freePort()}/shop.git`
    await db
      .updateTable('applications')
      .set({ repository: address })
      .where('id', '=', at.applicationId)
      .execute()
    assert.equal(await stateOf(await start(at)), 'failed/FAILED_SOURCE')
  })
})

suite('many runs of an application', () => {
  test('share a fetch, and a run that came after it has what was pushed meanwhile', async () => {
    const { at, repository } = await openTree()
    const hook = await makeHook({}, at)
    const ids: number[] = []
    for (let count = 0; count < 5; count++) ids.push(assertStarted(await call(hook)))
    await schedule(ids)
    await prepare()
    const before = await tip(repository)
    for (const id of ids) assert.equal((await rowOf(id)).commit?.hash, before)
    const pushed = await repository.commit({ b: '' })
    assert.equal((await rowOf(await startByHook(at))).commit?.hash, pushed)
  })

  test('ship what they did when they are prepared together, whatever each of them deploys', async () => {
    const { at, repository, admin } = await openTree()
    const before = await tip(repository)
    await repository.git(['branch', 'old', before])
    const pushed = await repository.commit({ b: '' })
    await goLive(at, before)
    const ids: number[] = []
    for (const branch of ['main', 'old', 'main', 'none', 'main', 'old'])
      ids.push((await started(run({ source_ref: branch }, { at }))).id)
    await schedule(ids)
    await prepare()
    const [states, commits] = [await Promise.all(ids.map(stateOf)), await Promise.all(ids.map(rowOf))]
    const missing = 'failed/FAILED_SOURCE'
    assert.deepEqual(states, [ASKED, ASKED, ASKED, missing, ASKED, ASKED])
    assert.deepEqual(
      commits.map(({ commit }) => commit?.hash),
      [pushed, before, pushed, undefined, pushed, before],
    )
    const shipped = await sql<{ id: number; files: number }>`
      select action_id as id, (comparison -> 'files' ->> 'total')::int as files from action_changes
      where action_id = any(${ids}::bigint[]) order by action_id`.execute(db)
    const [first, second, third, , fifth, sixth] = ids
    assert.deepEqual(shipped.rows, [
      { id: first, files: 1 },
      { id: second, files: 0 },
      { id: third, files: 1 },
      { id: fifth, files: 1 },
      { id: sixth, files: 0 },
    ])
    assert.deepEqual(await repositories.pinned({ applicationId: at.applicationId, signal }), [
      ...[first, second, third, fifth, sixth],
    ])
    for (const id of [first!, sixth!]) assert.equal((await approve(id, admin)).status, 200)
    assert.equal(await stateOf(first!), QUEUED)
  })

  test('take hardly more statements together than one of them does', async () => {
    const { at } = await openTree()
    const hook = await makeHook({}, at)
    async function prepareSome(count: number): Promise<number> {
      const ids: number[] = []
      for (let made = 0; made < count; made++) ids.push(assertStarted(await call(hook)))
      await schedule(ids)
      const { statements } = world.api
      statements.length = 0
      await prepare()
      const taken = statements.length
      for (const id of ids) assert.notEqual((await rowOf(id)).commit, null)
      return taken
    }
    const alone = await prepareSome(1)
    const together = await prepareSome(25)
    assert.ok(together <= alone + 3, `${alone} for one, ${together} for 25`)
  })

  test('are prepared without the one that cannot be', async () => {
    const { at, admin } = await openTree()
    const ids: number[] = []
    for (let count = 0; count < 3; count++) ids.push((await started(run({}, { at }))).id)
    await schedule(ids)
    const [, broken] = ids
    // A fault of one run, not of what they share.
    await sql`
      create or replace function no_subject() returns trigger language plpgsql as
        'begin raise exception ''out of order''; end'`.execute(db)
    await sql`
      create trigger no_subject before update of subject on approval_requests for each row
        when (new.action_id = ${sql.lit(broken)}) execute function no_subject()`.execute(db)
    const errors: string[] = []
    await prepareDue({ ...world.loop, onError: ({ message }) => errors.push(message) }, signal)
    await sql`drop trigger no_subject on approval_requests`.execute(db)
    assert.deepEqual(errors, ['out of order'])
    const { rows } = await sql<{ id: number }>`
      select action_id as id from approval_requests where action_id = any(${ids}::bigint[]) and subject is not null
      order by 1`.execute(db)
    assert.deepEqual(rows, [{ id: ids[0] }, { id: ids[2] }])
    await sql`update approval_requests set due_at = now() where action_id = ${broken}`.execute(db)
    await prepare()
    assert.equal((await approve(broken!, admin)).status, 200)
  })

  test('keep their commits until they end; those of ended ones are removed now and then', async () => {
    const { at } = await openTree()
    const { applicationId } = at
    const [ended, waiting] = [await start(at), await start(at)]
    let now = 0
    const removeOldPins = createRemoveOldPins({ db, repositories }, () => now)
    await removeOldPins(applicationId, signal)
    const pins = () => repositories.pinned({ applicationId, signal })
    await cancel(ended, { at })
    await removeOldPins(applicationId, signal)
    assert.deepEqual(await pins(), [ended, waiting])
    now = 600_000
    await removeOldPins(applicationId, signal)
    assert.deepEqual(await pins(), [waiting])
  })
})
