// What the next attempt makes of a step that may run on its server by itself, decided from what is stored.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import { beginTarget } from '#engine/runner/begin-target.ts'
import { countAttempt, launchDetached, moveDetached } from '#engine/scheduling/detached-steps.ts'
import { openTargetLifecycle } from '#engine/scheduling/target-lifecycle.ts'
import { findFinished } from '#model/detached/finished-steps.ts'
import { openListener } from '#platform/database/listen.ts'
import type { StoredStep } from '#platform/database/tables.ts'
import type { JobContext } from '#platform/queue/handler.ts'
import { openTestApp } from '#test/support/harness.ts'
import { later } from '#test/support/later.ts'
import { createAction, createTestTree } from '#test/support/world.ts'

const file = { after }
const { db, box, settings } = await openTestApp({ after: (end: () => Promise<void>) => later(file, end) })
const listener = await openListener(settings, { onError: assert.ifError })
later(file, () => listener.close())
const lifecycle = await openTargetLifecycle({
  ...{ db, listener, enqueueTargets: async () => {}, onError: assert.ifError },
})
const log = {
  debug() {},
  info() {},
  warn() {},
  error: (fields: object) => assert.fail(JSON.stringify(fields)),
}

function makeJob(): JobContext {
  const { signal } = new AbortController()
  const owned = { hold: async () => {}, held: sql`select 1`, complete: async () => {} }
  return {
    ...{ jobId: randomUUID(), attempt: 1, signal, isDraining: () => false, handOver: signal },
    ...owned,
  }
}

/** A target in the middle of a custom step of its first attempt, after so many that are completed. */
async function makeTarget({ isCancelled = false, attempt = 1, completed = 0 } = {}) {
  const tree = await createTestTree(db)
  await db.updateTable('servers').set({ credential_id: null }).where('id', 'in', tree.serverIds).execute()
  const order = completed + 1
  const positions = Array.from({ length: order }, (_, index) => index + 1)
  const inserted = await db
    .insertInto('pipeline_steps')
    .values(
      positions.map((position) => ({
        ...{ pipeline_id: tree.serverPipelineId, position },
        ...{ name: `once-${position}`, command: 'once' },
      })),
    )
    .returning(['id', 'name', 'position'])
    .execute()
  const running = { status: 'in-progress', status_reason_code: 'IN_PROGRESS', completed_at: null } as const
  const cancelled_at = isCancelled ? new Date().toISOString() : null
  const serverId = tree.serverIds[0]!
  const actionId = await createAction(
    db,
    { ...tree, pipelineId: tree.serverPipelineId, serverIds: [serverId] },
    { ...running, has_place: true, cancelled_at },
  )
  const at = new Date().toISOString()
  const steps = inserted
    .toSorted((one, other) => one.position - other.position)
    .map(({ id, name, position }): StoredStep => {
      const step = { order: position, step_id: id, name, description: null, started_at: at }
      return position < order
        ? { ...step, status: 'completed', reason: 'COMPLETED', completed_at: at }
        : { ...step, status: 'in-progress', reason: 'IN_PROGRESS', completed_at: null }
    })
  const { id } = await db
    .updateTable('targets')
    .set({ ...running, steps: JSON.stringify(steps), attempt })
    .where('action_id', '=', actionId)
    .returning('id')
    .executeTakeFirstOrThrow()
  const track = (owner = attempt, statePathOf?: (token: string) => string) =>
    db.transaction().execute(async (trx) => {
      const next = { order, serverId, runAsUser: null, statePathOf }
      return (await moveDetached(trx, { targetId: id, attempt: owner }, next))?.token ?? ''
    })
  const read = () =>
    db
      .selectFrom('targets')
      .select(['status_reason_code as reason', 'attempt', 'reattached', 'steps'])
      .where('id', '=', id)
      .executeTakeFirstOrThrow()
  const current = () =>
    db
      .selectFrom('detached_steps')
      .select(['token', 'attempt', 'state_path'])
      .where('target_id', '=', id)
      .where('ended_at', 'is', null)
      .executeTakeFirst()
  const begin = () => beginTarget({ db, box, log, lifecycle }, id, makeJob())
  const launch = (token: string) =>
    launchDetached(db, { token, attempt, statePath: `/home/${token}`, logFrom: 0 })
  return { id, track, read, current, begin, launch }
}

suite('the next attempt', () => {
  test('continues what was started, under a number that does not count', async () => {
    const target = await makeTarget()
    const token = await target.track()
    assert.equal(await target.launch(token), 'launched')
    const before = (await target.read()).steps
    const attempt = await target.begin()
    assert.deepEqual([attempt?.plan.isReattached, attempt?.plan.detached?.token], [true, token])
    const { steps, ...stored } = await target.read()
    assert.deepEqual(stored, { reason: 'RECONNECTING', attempt: 2, reattached: 1 })
    assert.deepEqual(steps, before)
    await attempt!.setReconnecting(false)
    assert.equal((await target.read()).reason, 'IN_PROGRESS')
    // Again within the same attempt, after a lost connection.
    await attempt!.reattach()
    const { attempt: number, reattached } = await target.read()
    assert.deepEqual([number, reattached, (await target.current())?.attempt], [3, 2, 3])
    assert.equal(await target.launch(token), 'reassigned', 'the first attempt is fenced')
    attempt!.release()
  })

  test('starts what was not started, under a new token', async () => {
    const target = await makeTarget()
    const token = await target.track()
    const attempt = await target.begin()
    assert.equal(attempt?.plan.isReattached, undefined)
    const { reason, reattached } = await target.read()
    assert.deepEqual([reason, reattached], ['IN_PROGRESS', 0])
    const current = await target.current()
    assert.equal(current?.token, attempt?.plan.detached?.token)
    assert.notEqual(current?.token, token)
    attempt!.release()
  })

  test('asks the server about what may have been started behind another step, without another statement', async () => {
    const target = await makeTarget()
    const token = await target.track(1, (token) => `/home/${token}`)
    const { state_path } = (await target.current())!
    assert.equal(state_path, `/home/${token}`)
    const attempt = await target.begin()
    const { isReattached, detached } = attempt!.plan
    assert.deepEqual([isReattached, detached?.token, detached?.statePath], [true, token, state_path])
    attempt!.release()
  })

  test('counts after all when it has crashed in our own code', async () => {
    const target = await makeTarget()
    await target.launch(await target.track())
    const crashed = await target.begin()
    await db.transaction().execute((trx) => countAttempt(trx, target.id))
    assert.equal((await target.read()).reattached, 0)
    crashed!.release()
    const next = await target.begin()
    // The first one, the one that crashed, and itself.
    assert.deepEqual([next?.plan.isReattached, next?.counted], [true, 3])
    next!.release()
    const last = await target.begin()
    assert.equal(last?.counted, 3)
    last!.release()
  })

  test('does not try forever to start a step, but one that every earlier step has cost does not count', async () => {
    const [spent, late] = [await makeTarget({ attempt: 10 }), await makeTarget({ attempt: 10, completed: 2 })]
    for (const target of [spent, late]) await target.track()
    assert.equal(await spent.begin(), null)
    assert.equal((await spent.read()).reason, 'FAILED_WORKER_LOST')
    const attempt = await late.begin()
    assert.deepEqual([attempt?.attempt, attempt?.plan.order], [11, 3])
    attempt!.release()
  })

  test('continues what was canceled meanwhile, to end it', async () => {
    const target = await makeTarget({ isCancelled: true })
    await target.launch(await target.track())
    const attempt = await target.begin()
    assert.deepEqual([attempt?.plan.isReattached, attempt?.cancelled.aborted], [true, true])
    attempt!.release()
  })

  test('does not repeat what ran attached, or may have been started by an older release', async () => {
    const attached = await makeTarget()
    assert.equal(await attached.begin(), null)
    // It began the second attempt, and knew nothing of the token of the first.
    const taken = await makeTarget({ attempt: 2 })
    const token = await taken.track(1)
    assert.equal(await taken.begin(), null)
    for (const target of [attached, taken]) {
      assert.equal((await target.read()).reason, 'FAILED_WORKER_LOST')
      assert.equal(await target.current(), undefined)
    }
    assert.deepEqual(await findFinished(db, [token]), [token])
  })
})

test('nothing is detached while a worker of an older release is online', async () => {
  const target = await makeTarget()
  const token = await target.track()
  await sql`insert into workers (id) values (gen_random_uuid())`.execute(db)
  assert.equal(await target.launch(token), 'older-workers')
  assert.equal((await target.current())?.state_path, null)
  assert.equal(await target.track(), '')
  await sql`delete from workers where not reattaches`.execute(db)
})

test('a sweep spares what runs, and nothing else', async () => {
  const target = await makeTarget()
  const [ended, running] = [await target.track(), await target.track()]
  const unknown = 'f'.repeat(32)
  assert.deepEqual(await findFinished(db, [ended, running, unknown]), [ended, unknown])
  await sql`update targets set status = 'failed', status_reason_code = 'FAILED', completed_at = now()
    where id = ${target.id}`.execute(db)
  assert.deepEqual(await findFinished(db, [running]), [running])
})
