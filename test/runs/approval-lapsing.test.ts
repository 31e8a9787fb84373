// What lets an approval lapse between the decision and the start, and what does not.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import { variableAad } from '#model/inventory/sealed-aad.ts'
import { ASKED, BUSY, openApprovals, QUEUED, tip } from '#test/support/approvals.ts'
import { createAction, type TestTree } from '#test/support/world.ts'

const {
  db,
  box,
  setPipeline,
  prepare,
  pass,
  stateOf,
  setApproval,
  openTree,
  approvalOf,
  approve,
  start,
  goLive,
} = await openApprovals({ after })

suite('an approval lapses', () => {
  /** Approved, and without a slot: another run has it. */
  async function approvedAndWaiting(open: Awaited<ReturnType<typeof openTree>>): Promise<number> {
    const { at, admin } = open
    await setPipeline(at, { max_parallel_actions: 1 })
    const first = await start(at)
    await approve(first, admin)
    const id = await start(at)
    await approve(id, admin)
    assert.equal(await stateOf(id), BUSY)
    await setPipeline(at, { max_parallel_actions: 2 })
    return id
  }
  const changes: Record<string, (at: TestTree) => Promise<unknown>> = {
    'a build command': (at) =>
      sql`update applications set build_command = 'make' where id = ${at.applicationId}`.execute(db),
    'a shared path': (at) =>
      sql`update applications set shared_paths = '{x}' where id = ${at.applicationId}`.execute(db),
    'the host of a server': (at) =>
      sql`update servers set host = 'other.example.com' where id = ${at.serverIds[0]}`.execute(db),
    'the port of a server': (at) =>
      sql`update servers set port = 23 where id = ${at.serverIds[0]}`.execute(db),
    'the rollout': (at) =>
      sql`update pipelines set rollout = '{"batch": 1, "max_failed": 0}' where id = ${at.pipelineId}`.execute(
        db,
      ),
    'a variable': async (at) => {
      const { id } = await db
        .insertInto('application_variables')
        .values({ application_id: at.applicationId, name: 'A', value: Buffer.from('') })
        .returning('id')
        .executeTakeFirstOrThrow()
      const value = box.seal('x', variableAad(id))
      await db.updateTable('application_variables').set({ value }).where('id', '=', id).execute()
    },
  }
  for (const [what, change] of Object.entries(changes))
    test(`when ${what} changes before the start`, async () => {
      const open = await openTree()
      const { at, admin } = open
      const id = await approvedAndWaiting(open)
      const subject = (await approvalOf(id, admin)).details.subject
      await change(at)
      await pass(at)
      assert.equal(await stateOf(id), ASKED)
      await prepare()
      assert.equal(await stateOf(id), ASKED)
      const { details } = await approvalOf(id, admin)
      assert.notEqual(details.subject, subject)
      assert.notEqual(details.decisions[0].lapsed_at, null)
      await approve(id, admin)
      assert.equal(await stateOf(id), QUEUED)
    })

  test('when a variable is stored again with the same value, it does not', async () => {
    const open = await openTree()
    const { at } = open
    await changes['a variable']!(at)
    const id = await approvedAndWaiting(open)
    const { id: variable } = await db
      .selectFrom('application_variables')
      .select('id')
      .where('application_id', '=', at.applicationId)
      .executeTakeFirstOrThrow()
    const value = box.seal('x', variableAad(variable))
    await db.updateTable('application_variables').set({ value }).where('id', '=', variable).execute()
    await pass(at)
    assert.equal(await stateOf(id), ASKED)
    await prepare()
    assert.equal(await stateOf(id), QUEUED)
  })

  test('when an approver has lost the permission', async () => {
    const open = await openTree()
    const { at, admin } = open
    const id = await approvedAndWaiting(open)
    await sql`delete from grants where user_id = ${admin.id}`.execute(db)
    await pass(at)
    await prepare()
    assert.equal(await stateOf(id), ASKED)
  })

  test('when the setting was tightened; loosened, it stays as it was', async () => {
    const open = await openTree()
    const { at } = open
    const id = await approvedAndWaiting(open)
    await setApproval(at, { required: 2 })
    await setApproval(at, null)
    await pass(at)
    await prepare()
    assert.equal(await stateOf(id), ASKED)
    assert.equal((await approvalOf(id, at.owner)).details.required, 2)
    assert.equal(await stateOf(await start(at)), QUEUED)
  })
})

suite('what goes live between approval and start', () => {
  /** main: A–B–C–D, side: A–X. */
  async function history() {
    const open = await openTree()
    const { repository, at, admin } = open
    const a = await tip(repository)
    await repository.branch('side', a)
    const b = await repository.commit({ b: '' })
    const c = await repository.commit({ c: '' })
    const d = await repository.commit({ d: '' })
    const x = await repository.commit({ x: '' }, { branch: 'side' })
    const approvedOnto = async (live: string | null, commit: string) => {
      await setPipeline(at, { max_parallel_actions: 1 })
      if (live) await goLive(at, live)
      await createAction(db, at, {
        ...{ status: 'waiting', status_reason_code: 'WAITING_WORKER', has_place: true },
        ...{ started_at: null, completed_at: null },
      })
      const id = await start(at, { source_type: 'commit', source_ref: commit })
      assert.equal((await approve(id, admin)).status, 200)
      assert.equal(await stateOf(id), BUSY)
      await setPipeline(at, { max_parallel_actions: 2 })
      return id
    }
    const startNow = async (id: number) => {
      await pass(at)
      await prepare()
      return stateOf(id)
    }
    return { ...open, a, b, c, d, x, approvedOnto, startNow }
  }

  test('a part of what ships: the rest starts', async () => {
    const { at, a, b, d, approvedOnto, startNow } = await history()
    const id = await approvedOnto(a, d)
    await goLive(at, b)
    assert.equal(await startNow(id), QUEUED)
  })

  test('the same commit as another release: it starts', async () => {
    const { at, a, c, approvedOnto, startNow } = await history()
    const id = await approvedOnto(a, c)
    await goLive(at, a)
    assert.equal(await startNow(id), QUEUED)
  })

  test('an older commit: more would ship, and it waits again', async () => {
    const { at, a, b, d, approvedOnto, startNow } = await history()
    const id = await approvedOnto(b, d)
    await goLive(at, a)
    assert.equal(await startNow(id), ASKED)
  })

  test('a newer commit: it would be undone, and the run waits again', async () => {
    const { at, a, c, d, approvedOnto, startNow } = await history()
    const id = await approvedOnto(a, c)
    await goLive(at, d)
    assert.equal(await startNow(id), ASKED)
  })

  test('another branch: its commit would be undone, and the run waits again', async () => {
    const { at, a, d, x, approvedOnto, startNow } = await history()
    const id = await approvedOnto(a, d)
    await goLive(at, x)
    assert.equal(await startNow(id), ASKED)
  })

  test('something on servers where nothing was: a part of what ships', async () => {
    const { at, b, d, approvedOnto, startNow } = await history()
    const id = await approvedOnto(null, d)
    await goLive(at, b)
    assert.equal(await startNow(id), QUEUED)
  })

  test('a commit that is not known: it waits again', async () => {
    const { at, a, d, approvedOnto, startNow } = await history()
    const id = await approvedOnto(a, d)
    await goLive(at, 'f'.repeat(40))
    assert.equal(await startNow(id), ASKED)
  })
})
