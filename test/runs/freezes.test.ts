// What freezes hold, and when. On the real database, pass by pass.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import { cancelAction } from '#engine/scheduling/cancel.ts'
import { sweepSlots } from '#engine/scheduling/jobs.ts'
import { scheduleEnvironment } from '#engine/scheduling/schedule-new.ts'
import { lockScheduling } from '#model/actions/lock-scheduling.ts'
import { openBeginTarget } from '#test/support/begin-target.ts'
import { HELD, openFreezes, QUEUED } from '#test/support/freezes.ts'
import { later } from '#test/support/later.ts'
import { started } from '#test/support/runs.ts'
import { addEnvironment, createTestTree } from '#test/support/world.ts'

const file = { after }
const world = await openFreezes({ after: (end: () => Promise<void>) => later(file, end) })
const begin = await openBeginTarget(file, world)
const {
  db,
  run,
  cancel,
  targetsOf,
  eventsOf,
  deployed,
  queued,
  enqueueTargets,
  schedule,
  onError,
  release,
  stateOf,
  freezeAt,
  freezeOrganization,
  remove,
  start,
  limit,
  limitServers,
} = world

const completed = () => ({
  ...{ status: 'completed' as const, status_reason_code: 'COMPLETED' as const },
  ...{ started_at: new Date(), completed_at: new Date() },
})

suite('a freeze', () => {
  test('holds new runs: without a slot, without a job for their targets, and not toward the limit', async () => {
    const at = await createTestTree(db)
    await started(freezeAt(at))
    const before = queued.length
    const id = await start(at)
    assert.equal(await stateOf(id), HELD)
    assert.equal(queued.length, before)
    assert.deepEqual(
      (await targetsOf(id)).map(({ status }) => status),
      ['pending', 'pending'],
    )
    assert.deepEqual(await eventsOf(id), [
      { previous_status: null, status: 'queued' },
      { previous_status: 'queued', status: 'waiting' },
    ])
    // Nothing that assigns slots sees it.
    await sql`update actions set updated_at = now() - interval '1 hour' where id = ${id}`.execute(db)
    await sweepSlots(db, enqueueTargets, onError)
    await schedule([id])
    assert.equal(await stateOf(id), HELD)
  })

  test('of an organization holds in every environment of it, and in no other', async () => {
    const at = await createTestTree(db)
    const other = await createTestTree(db)
    await started(freezeOrganization(at))
    const created = await addEnvironment(db, at.owner.id, at.projectId, at.credentialId)
    const later = { ...at, ...created }
    assert.equal(await stateOf(await start(at)), HELD)
    assert.equal(await stateOf(await start(later)), HELD)
    assert.equal(await stateOf(await start(other)), QUEUED)
  })

  test('does not hold rollbacks', async () => {
    const at = await createTestTree(db)
    await deployed(at, '1')
    await deployed(at, '2')
    await started(freezeAt(at))
    const held = await start(at)
    const id = await start(at, { type: 'rollback' })
    assert.equal(await stateOf(held), HELD)
    assert.equal(await stateOf(id), QUEUED)
  })

  test('waits for nothing: a run that has its slot, but no server yet, returns it', async () => {
    const at = await createTestTree(db)
    await limit(at, 0)
    await limitServers(at, 1)
    const first = await start(at)
    const second = await start(at)
    assert.equal(await stateOf(second), 'waiting/WAITING_CONCURRENCY_TARGET with a slot')
    const { id: freezeId } = await started(freezeAt(at))
    await cancelAction({ db, enqueueTargets }, first, at.owner)
    assert.equal(await stateOf(second), HELD)
    assert.deepEqual(
      (await targetsOf(second)).map(({ status_reason_code, gate }) => [status_reason_code, gate]),
      [
        ['WAITING_FREEZE', 'freeze'],
        ['WAITING_FREEZE', 'freeze'],
      ],
    )
    await remove(at, freezeId)
    await release()
    assert.equal(await stateOf(second), QUEUED)
    assert.deepEqual(
      (await targetsOf(second)).map(({ status, gate }) => [status, gate]),
      [
        ['queued', null],
        ['queued', null],
      ],
    )
  })

  test('that is over before all servers of a run have seen it keeps none of them waiting', async () => {
    const at = await createTestTree(db)
    const id = await start(at)
    const [first, second] = await targetsOf(id)
    const { id: freezeId } = await started(freezeAt(at))
    assert.equal(await begin(first!.id), false)
    await remove(at, freezeId)
    assert.equal(await begin(second!.id), true)
    assert.deepEqual(
      (await targetsOf(id)).map(({ status }) => status),
      ['queued', 'in-progress'],
    )
  })

  test('lets started runs continue with their later batches', async () => {
    const at = await createTestTree(db)
    await sql`update pipelines set rollout = '{"batch": 1, "max_failed": 0}' where id = ${at.pipelineId}`.execute(
      db,
    )
    const id = await start(at)
    const [first, second] = await targetsOf(id)
    assert.deepEqual([first!.status, second!.status], ['queued', 'pending'])
    await started(freezeAt(at))
    await db.updateTable('targets').set(completed()).where('id', '=', first!.id).execute()
    await db
      .updateTable('actions')
      .set({ status: 'in-progress', status_reason_code: 'PENDING', started_at: new Date() })
      .where('id', '=', id)
      .execute()
    await scheduleEnvironment(db, at.environmentId, { actionIds: [id] }, enqueueTargets)
    assert.equal((await targetsOf(id))[1]!.status, 'queued')
  })

  test('holds a child when its parent has completed, and not before', async () => {
    const at = await createTestTree(db)
    const child = await world.addDeployPipeline(at, 'After')
    await db
      .insertInto('pipeline_run_after')
      .values({
        pipeline_id: child,
        after_pipeline_id: at.pipelineId,
        environment_id: at.environmentId,
      })
      .execute()
    await world.addStep(child, 'one', 1)
    const parent = await start(at)
    const { id } = await db
      .selectFrom('actions')
      .select('id')
      .where('parent_id', '=', parent)
      .executeTakeFirstOrThrow()
    await started(freezeAt(at))
    assert.equal(await stateOf(id), 'pending/PENDING')
    await db
      .updateTable('actions')
      .set({ status: 'in-progress', status_reason_code: 'IN_PROGRESS', started_at: new Date() })
      .where('id', '=', parent)
      .execute()
    await db.updateTable('targets').set(completed()).where('action_id', '=', parent).execute()
    await scheduleEnvironment(db, at.environmentId, { actionIds: [parent] }, enqueueTargets)
    assert.equal(await stateOf(id), HELD)
  })

  test('can be waited for, and canceled at', async () => {
    const at = await createTestTree(db)
    await started(freezeAt(at))
    const id = await start(at)
    assert.equal((await cancel(id, { at })).status, 202)
    assert.equal(await stateOf(id), 'failed/FAILED_CANCELLED')
  })

  test('makes its creation wait for the lock of each environment, so nothing starts after it', async () => {
    const at = await createTestTree(db)
    const { id } = await started(run({}, { at }))
    let isCreated = false
    const creating = await db.transaction().execute(async (trx) => {
      await lockScheduling(trx, [at.environmentId])
      const answer = freezeOrganization(at).then((one) => {
        isCreated = true
        return one
      })
      const waits = sql<{ n: number }>`
        select count(*) as n from pg_locks where locktype = 'advisory' and not granted
          and database = (select oid from pg_database where datname = current_database())`
      while ((await waits.execute(trx)).rows[0]!.n === 0) {}
      assert.equal(isCreated, false)
      return { answer }
    })
    assert.equal((await creating.answer).status, 201)
    await schedule([id])
    assert.equal(await stateOf(id), HELD)
  })
})
