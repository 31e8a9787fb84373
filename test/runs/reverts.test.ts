// Going back to an earlier release: what is stored about it, when attempts are lost, repeated or cancelled.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import { beginTarget } from '#engine/runner/begin-target.ts'
import type { Run } from '#engine/runner/load-run.ts'
import { markLive, markReverted } from '#engine/runner/mark-live.ts'
import { RunsElsewhere } from '#engine/scheduling/home-worker.ts'
import { sweepSlots } from '#engine/scheduling/jobs.ts'
import { openTargetLifecycle } from '#engine/scheduling/target-lifecycle.ts'
import type { State } from '#model/actions/status.ts'
import { readVersion } from '#model/live/live-record.ts'
import type { Transaction } from '#platform/database/connect.ts'
import { openListener } from '#platform/database/listen.ts'
import type { Status, StoredStep } from '#platform/database/tables.ts'
import type { JobContext } from '#platform/queue/handler.ts'
import { openTestApp } from '#test/support/harness.ts'
import { later } from '#test/support/later.ts'
import { recordLive } from '#test/support/live.ts'
import { insertWorker } from '#test/support/workers.ts'
import { createAction, createTestTree } from '#test/support/world.ts'

const file = { after }
const { db, box, settings } = await openTestApp({ after: (end: () => Promise<void>) => later(file, end) })
const inTransaction = (work: (trx: Transaction) => Promise<void>) => db.transaction().execute(work)

const name = (digit: number) => `2026010100000${digit}-${String(digit).repeat(8)}`

const listener = await openListener(settings, { onError: assert.ifError })
later(file, () => listener.close())
const enqueued: number[] = []
const enqueueTargets = async (_: Transaction, targets: { targetId: number }[]) =>
  void enqueued.push(...targets.map(({ targetId }) => targetId))
const common = { db, listener, enqueueTargets, onError: assert.ifError }
const lifecycle = await openTargetLifecycle(common)

function makeJob() {
  const signal = new AbortController().signal
  const owned = { hold: async () => {}, held: sql`select 1` }
  const job = { jobId: randomUUID(), attempt: 1, signal, isDraining: () => false, handOver: signal, ...owned }
  const ended = { isCompleted: false }
  const complete = async () => {
    ended.isCompleted = true
  }
  return { ended, job: { ...job, complete } satisfies JobContext }
}

const HELD: State = { status: 'in-progress', reason: 'PENDING' }
const RUNNING: State = { status: 'in-progress', reason: 'IN_PROGRESS' }
const REVERTING: State = { status: 'in-progress', reason: 'REVERTING' }
const FAILED: State = { status: 'failed', reason: 'FAILED' }
const [ACTIVATE, VERIFY, CLEANUP] = [1, 2, 3] as const
const ALL = 'completed completed completed'
const ROLLOUT = { batch: 1, max_failed: 0, on_failure: 'revert_all' }

/** A deploy to servers in these states; `steps` are the states of its steps, a fourth one is `revert-release`. */
async function makeDeploy(
  targets: (State & { steps: string })[],
  { cancelled = false, rollout = ROLLOUT as object } = {},
) {
  const tree = await createTestTree(db)
  await db
    .updateTable('applications')
    .set({ credential_id: null })
    .where('id', '=', tree.applicationId)
    .execute()
  await db
    .updateTable('pipelines')
    .set({ on_failure: 'revert', rollout: JSON.stringify(rollout) })
    .where('id', '=', tree.pipelineId)
    .execute()
  await db
    .insertInto('pipeline_steps')
    .values({ pipeline_id: tree.pipelineId, position: 50, name: 'verify', command: 'verify' })
    .execute()
  const rows = await db
    .selectFrom('pipeline_steps')
    .select(['id', 'name'])
    .where('pipeline_id', '=', tree.pipelineId)
    .execute()
  const names = ['activate-new-release', 'verify', 'remove-old-releases', 'revert-release']
  const stepOf = (status: string, index: number): StoredStep => ({
    order: index + 1,
    step_id: rows.find((row) => row.name === names[index])?.id ?? null,
    name: names[index]!,
    description: null,
    status: status as Status,
    reason: ({ 'in-progress': 'IN_PROGRESS' }[status] ?? status.toUpperCase()) as 'FAILED',
    started_at: null,
    completed_at: null,
  })
  const open = {
    completed_at: null,
    has_place: true,
    cancelled_at: cancelled ? new Date().toISOString() : null,
  }
  const serverIds = tree.serverIds.slice(0, targets.length)
  const state = { status: 'in-progress', status_reason_code: 'IN_PROGRESS' } as const
  const actionId = await createAction(db, { ...tree, serverIds }, { ...state, ...open })
  const read = () =>
    db.selectFrom('targets').selectAll().where('action_id', '=', actionId).orderBy('position').execute()
  for (const [index, { id }] of (await read()).entries()) {
    const { status, reason, steps } = targets[index]!
    await db
      .updateTable('targets')
      .set({
        status,
        status_reason_code: reason,
        batch: index + 1,
        steps: JSON.stringify(steps.split(' ').map(stepOf)),
        live_before: steps.startsWith('completed')
          ? JSON.stringify({ release: name(1), action_id: null, commit_sha: null })
          : null,
        completed_at: status === 'failed' ? new Date().toISOString() : null,
        attempt: 1,
      })
      .where('id', '=', id)
      .execute()
  }
  return {
    actionId,
    serverIds,
    targetIds: (await read()).map(({ id }) => id),
    reasons: async () => (await read()).map((target) => target.status_reason_code),
    steps: async (index: number) => (await read())[index]!.steps.map((step) => `${step.name} ${step.status}`),
    read,
  }
}

/** Ends a target that runs with a step that failed. */
async function failAt(targetId: number, order: number) {
  const { job } = makeJob()
  const attempt = await lifecycle.begin(targetId, job, randomUUID(), async () => ({ order }))
  await attempt!.end(order, FAILED)
  attempt!.release()
}

suite('servers that are held for revert_all', () => {
  test('stay as they are when only the cleanup fails elsewhere, and go back when another step does', async () => {
    const at = (steps: string) => [
      { ...HELD, steps: ALL },
      { ...RUNNING, steps },
    ]
    const cleanup = await makeDeploy(at('completed completed in-progress'))
    await failAt(cleanup.targetIds[1]!, CLEANUP)
    assert.deepEqual(await cleanup.reasons(), ['COMPLETED', 'FAILED'])

    const activate = await makeDeploy(at('in-progress pending pending'))
    await failAt(activate.targetIds[1]!, ACTIVATE)
    assert.deepEqual(await activate.reasons(), ['REVERTING', 'FAILED'])
  })

  test('are completed when the rollout no longer takes them back', async () => {
    const targets = [
      { ...HELD, steps: ALL },
      { ...FAILED, steps: 'failed skipped skipped' },
    ]
    const { reasons, actionId } = await makeDeploy(targets, { rollout: { batch: 1, max_failed: 0 } })
    await sweepSlots(db, enqueueTargets, assert.ifError)
    assert.deepEqual(await reasons(), ['COMPLETED', 'FAILED'])
    const action = await db
      .selectFrom('actions')
      .select('status')
      .where('id', '=', actionId)
      .executeTakeFirst()
    assert.equal(action?.status, 'failed')
  })

  test('run nothing: a job for one of them is over', async () => {
    const targets = [
      { ...HELD, steps: ALL },
      { ...RUNNING, steps: 'in-progress pending pending' },
    ]
    const { targetIds, reasons } = await makeDeploy(targets)
    const { job, ended } = makeJob()
    const begun = await lifecycle.begin(targetIds[0]!, job, randomUUID(), () => assert.fail())
    assert.deepEqual([begun, ended.isCompleted], [null, true])
    assert.deepEqual(await reasons(), ['PENDING', 'IN_PROGRESS'])
  })
})

suite('a run that was cancelled', () => {
  test('does not go back when a step fails by itself before the worker is notified', async () => {
    const targets = [{ ...RUNNING, steps: 'completed in-progress pending' }]
    const { targetIds, reasons, steps } = await makeDeploy(targets, { cancelled: true })
    await failAt(targetIds[0]!, VERIFY)
    assert.deepEqual(await reasons(), ['FAILED'])
    assert.equal((await steps(0)).length, 3)
  })

  test('finishes the switch back that a lost worker has begun, and begins none', async () => {
    const begin = async (revert: string) => {
      const targets = [{ ...REVERTING, steps: `completed failed skipped ${revert}` }]
      const deploy = await makeDeploy(targets, { cancelled: true })
      const log = { error: assert.ifError } as never
      const attempt = await beginTarget({ db, lifecycle, box, log }, deploy.targetIds[0]!, makeJob().job)
      attempt?.release()
      return { attempt, reasons: await deploy.reasons() }
    }
    const begun = await begin('in-progress')
    assert.equal(begun.attempt?.plan.order, 4)
    assert.deepEqual(begun.reasons, ['REVERTING'])
    const pending = await begin('pending')
    assert.equal(pending.attempt, null)
    assert.deepEqual(pending.reasons, ['FAILED_CANCELLED'])
  })
})

suite('on a server that is the machine of another worker', async () => {
  const other = await openTargetLifecycle({ ...common, workerName: 'other' })
  async function makeLocal(...input: Parameters<typeof makeDeploy>) {
    const deploy = await makeDeploy(...input)
    await sql`update servers set provider_code = 'local', host = null, port = null, login_name = null,
      worker_name = 'home' where id = ${deploy.serverIds[0]}`.execute(db)
    await sql`update targets set worker_name = 'home' where id = ${deploy.targetIds[0]}`.execute(db)
    return deploy
  }

  test('that the target has to go back is stored before its job goes there', async () => {
    const { targetIds, read, steps } = await makeLocal([
      { ...RUNNING, steps: 'completed in-progress pending' },
    ])
    let plans = 0
    const plan = async () => (plans++ === 0 ? { order: VERIFY, end: FAILED } : { order: 4 })
    await assert.rejects(other.begin(targetIds[0]!, makeJob().job, randomUUID(), plan), RunsElsewhere)
    const [target] = await read()
    assert.deepEqual([target?.status_reason_code, target?.worker_name], ['REVERTING', 'home'])
    assert.deepEqual((await steps(0)).at(-1), 'revert-release pending')
  })

  test('a cancelled switch back is finished there if that worker is online, else it ends', async () => {
    const targets = [{ ...REVERTING, steps: 'completed failed skipped in-progress' }]
    const { targetIds, reasons } = await makeLocal(targets, { cancelled: true })
    const log = { error: assert.ifError } as never
    const begin = () => beginTarget({ db, lifecycle: other, box, log }, targetIds[0]!, makeJob().job)
    const worker = await insertWorker(db, 'home')
    await assert.rejects(begin(), RunsElsewhere)
    assert.deepEqual(await reasons(), ['REVERTING'])
    await db.deleteFrom('workers').where('id', '=', worker).execute()
    assert.equal(await begin(), null)
    assert.deepEqual(await reasons(), ['FAILED_CANCELLED'])
  })
})

suite('what is stored as live', () => {
  async function openServer() {
    const tree = await createTestTree(db)
    const [serverId] = tree.serverIds as [number]
    const { applicationId } = tree
    async function makeRun(digit: number, before: number | null): Promise<Run> {
      const more = { release_name: name(digit) }
      const actionId = await createAction(db, { ...tree, serverIds: [serverId] }, more, more)
      const { id: targetId } = await db
        .selectFrom('targets')
        .select('id')
        .where('action_id', '=', actionId)
        .executeTakeFirstOrThrow()
      const liveBefore = { release: before && name(before), action_id: null, commit_sha: null }
      const run = { actionId, targetId, releaseName: name(digit), commit: null, liveBefore }
      return { ...run, application: { id: applicationId }, server: { id: serverId } } as unknown as Run
    }
    /** As a step that switches does: what is stored is read before the command, and compared after it. */
    const markedBy = async (mark: typeof markLive, run: Run) => {
      const liveVersion = await readVersion(db, { applicationId, serverId })
      await inTransaction((trx) => mark(trx, { ...run, liveVersion }))
    }
    const isUnknown = async () => (await readVersion(db, { applicationId, serverId })).startsWith('unknown')
    const live = () =>
      db
        .selectFrom('live_releases')
        .select(['action_id', 'release_name'])
        .where('server_id', '=', serverId)
        .executeTakeFirst()
    const liveBefore = async ({ targetId }: Run) => {
      const row = await db
        .selectFrom('targets')
        .select('live_before')
        .where('id', '=', targetId)
        .executeTakeFirstOrThrow()
      return row.live_before!
    }
    const isReverted = async (digit: number) => {
      const row = await db
        .selectFrom('releases_on_disk')
        .select('reverted')
        .where('server_id', '=', serverId)
        .where('release_name', '=', name(digit))
        .executeTakeFirst()
      return row?.reverted
    }
    return { disk: { applicationId, serverId }, makeRun, markedBy, isUnknown, live, liveBefore, isReverted }
  }

  test('what was live before is remembered once: a repetition does not look it up again', async () => {
    const { disk, makeRun, markedBy, live, liveBefore, isReverted } = await openServer()
    await makeRun(1, null)
    const rollback = await makeRun(3, null)
    await inTransaction((trx) =>
      recordLive(trx, { ...disk, actionId: rollback.actionId, releaseName: name(1), commitSha: null }),
    )
    const bad = await makeRun(2, 1)
    await markedBy(markLive, bad)
    await markedBy(markLive, bad)
    const before = await liveBefore(bad)
    assert.deepEqual([before.release, before.action_id], [name(1), rollback.actionId])
    const back = { ...bad, liveBefore: before }
    await markedBy(markReverted, back)
    await markedBy(markReverted, back)
    assert.deepEqual(await live(), { action_id: rollback.actionId, release_name: name(1) })
    assert.equal(await isReverted(2), true)
  })

  test('a revert that is stored late leaves what another run has made live since', async () => {
    const { disk, makeRun, markedBy, isUnknown, live, liveBefore, isReverted } = await openServer()
    const [good, bad, newer] = [await makeRun(1, null), await makeRun(2, 1), await makeRun(3, 2)]
    for (const one of [good, bad]) await markedBy(markLive, one)
    const liveVersion = await readVersion(db, disk)
    await markedBy(markLive, newer)
    const back = { ...bad, liveVersion, liveBefore: await liveBefore(bad) }
    assert.equal(back.liveBefore.action_id, good.actionId)
    await inTransaction((trx) => markReverted(trx, back))
    assert.deepEqual(await live(), { action_id: newer.actionId, release_name: name(3) })
    assert.equal(await isReverted(2), true)
    const unknown = { ...back.liveBefore, action_id: null }
    await inTransaction((trx) => markReverted(trx, { ...back, liveBefore: unknown }))
    assert.equal((await live())?.action_id, newer.actionId)
    // A release that Gantry does not know is not "nothing".
    await markedBy(markReverted, { ...newer, liveBefore: unknown })
    assert.equal(await live(), undefined)
    assert.equal(await isUnknown(), true)
  })

  test('a switch that another run has stored over is not known, until it is read from the server', async () => {
    const { disk, makeRun, markedBy, isUnknown, live } = await openServer()
    const [one, other] = [await makeRun(1, null), await makeRun(2, null)]
    const liveVersion = await readVersion(db, disk)
    await markedBy(markLive, other)
    await inTransaction((trx) => markLive(trx, { ...one, liveVersion }))
    assert.deepEqual([await live(), await isUnknown()], [undefined, true])
    // Somebody has read it from the server and stored it in between.
    await inTransaction((trx) =>
      recordLive(trx, { ...disk, actionId: one.actionId, releaseName: name(1), commitSha: null }),
    )
    await inTransaction((trx) => markLive(trx, { ...one, liveVersion }))
    assert.equal((await live())?.action_id, one.actionId)
  })

  test('a release that another run has made live again is not one that was taken back', async () => {
    const { disk, makeRun, markedBy, live, liveBefore, isReverted } = await openServer()
    const [good, bad] = [await makeRun(1, null), await makeRun(2, 1)]
    for (const one of [good, bad]) await markedBy(markLive, one)
    const liveVersion = await readVersion(db, disk)
    const rollback = { ...(await makeRun(3, 1)), releaseName: name(2) }
    await markedBy(markLive, rollback)
    const back = { ...bad, liveVersion, liveBefore: await liveBefore(bad) }
    await inTransaction((trx) => markReverted(trx, back))
    assert.deepEqual(await live(), { action_id: rollback.actionId, release_name: name(2) })
    assert.equal(await isReverted(2), false)
  })
})
