// Results of steps, stored in one statement: once, by the attempt that owns the target, and only while it holds its job.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { sql } from 'kysely'
import { JobReassignedError, ownSteps } from '#engine/scheduling/move-steps.ts'
import { completeStep, startAt } from '#engine/scheduling/states.ts'
import type { StoredStep } from '#platform/database/tables.ts'
import { openTestApp } from '#test/support/harness.ts'
import { later } from '#test/support/later.ts'
import { createAction, createTestTree } from '#test/support/world.ts'

const file = { after }
const { db } = await openTestApp({ after: (end: () => Promise<void>) => later(file, end) })

const OWNED = { held: sql`select 1` }
const LOST = { held: sql`select 1 where false` }
const finish = (order: number) => (steps: readonly StoredStep[], at: string) => completeStep(steps, order, at)

async function makeTarget() {
  const tree = await createTestTree(db)
  const running = { status: 'in-progress', status_reason_code: 'IN_PROGRESS', completed_at: null } as const
  const actionId = await createAction(db, { ...tree, serverIds: tree.serverIds.slice(0, 1) }, running)
  const names = ['build', '"at"', 'test']
  const steps = names.map((name, index) => ({ order: index + 1, step_id: null, name, description: null }))
  const pending = { status: 'pending', reason: 'PENDING', started_at: null, completed_at: null } as const
  const { id } = await db
    .updateTable('targets')
    .set({ ...running, attempt: 1, steps: JSON.stringify(steps.map((step) => ({ ...step, ...pending }))) })
    .where('action_id', '=', actionId)
    .returning('id')
    .executeTakeFirstOrThrow()
  const read = async () =>
    (await db.selectFrom('targets').select('steps').where('id', '=', id).executeTakeFirstOrThrow()).steps
  const moves = async () => {
    const of = db.selectFrom('target_moves').where('target_id', '=', id).orderBy('id')
    const rows = await of.select(['step_order', 'previous_status', 'status']).execute()
    return rows.map((row) => `${row.step_order} ${row.previous_status} ${row.status}`)
  }
  const owner = { targetId: id, attempt: 1 }
  const own = ownSteps(OWNED, owner, await read())
  await db.transaction().execute((trx) => own.move(trx, (steps, at) => startAt(steps, 1, at)))
  return { owner, own, read, moves }
}

test('a result and the start of the next step have the same time, and the attempt knows what is stored', async () => {
  const { own, read, moves } = await makeTarget()
  const first = await own.moveAlone(db, finish(1))
  assert.deepEqual(first?.steps, await read())
  const second = await own.moveAlone(db, finish(2))
  assert.deepEqual(second?.steps, await read())
  const [one, two, three] = await read()
  assert.equal(one!.completed_at, two!.started_at)
  assert.equal(two!.completed_at, three!.started_at)
  assert.equal(new Date(two!.started_at!).toISOString(), two!.started_at)
  assert.deepEqual(await moves(), [
    '1 pending in-progress',
    '1 in-progress completed',
    '2 pending in-progress',
    '2 in-progress completed',
    '3 pending in-progress',
  ])
})

test('a result whose answer was lost is stored again, and is one move', async () => {
  const { owner, own, read, moves } = await makeTarget()
  const unheard = ownSteps(OWNED, owner, await read())
  await own.moveAlone(db, finish(1))
  assert.equal(await unheard.moveAlone(db, finish(1)), null)
  await db.transaction().execute((trx) => unheard.move(trx, finish(1)))
  const stored = await read()
  assert.deepEqual(
    stored.map(({ status }) => status),
    ['completed', 'in-progress', 'pending'],
  )
  assert.deepEqual((await moves()).slice(1), ['1 in-progress completed', '2 pending in-progress'])
})

test('an attempt that has lost its job or its target writes nothing', async () => {
  const { owner, read, moves } = await makeTarget()
  const before = await read()
  for (const lost of [ownSteps(LOST, owner, before), ownSteps(OWNED, { ...owner, attempt: 2 }, before)]) {
    assert.equal(await lost.moveAlone(db, finish(1)), null)
    await assert.rejects(
      db.transaction().execute((trx) => lost.move(trx, finish(1))),
      JobReassignedError,
    )
  }
  assert.deepEqual(await read(), before)
  assert.deepEqual(await moves(), ['1 pending in-progress'])
})

test('the step that starts gets its token with the result of the one before, unless a worker could not continue it', async () => {
  const { owner, own } = await makeTarget()
  const statePathOf = (token: string) => `/home/deploy/.gantry/${token}`
  const next = (order: number) => ({ order, serverId: 1, runAsUser: null, statePathOf })
  const stored = async () => {
    const of = db.selectFrom('detached_steps').where('target_id', '=', owner.targetId).orderBy('step_order')
    const rows = await of.select(['token', 'step_order', 'attempt', 'state_path', 'ended_at']).execute()
    return rows.map(({ ended_at, ...row }) => ({ ...row, isEnded: ended_at !== null }))
  }
  const { detached } = (await own.moveAlone(db, finish(1), next(2)))!
  const { token } = detached!
  const second = { token, step_order: 2, attempt: 1, state_path: statePathOf(token) }
  assert.deepEqual(await stored(), [{ ...second, isEnded: false }])
  assert.equal(detached!.announcedPath, second.state_path)
  const older = sql`insert into workers (id, version, seen_at, reattaches) values (gen_random_uuid(), '0.2.0', now(), false)`
  await older.execute(db)
  const attached = await own.moveAlone(db, finish(2), next(3))
  assert.equal(attached!.detached, null)
  assert.deepEqual(await stored(), [{ ...second, isEnded: true }])
  await db.deleteFrom('workers').where('reattaches', '=', false).execute()
})
