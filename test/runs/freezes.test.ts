// Freezes: what they hold, when, and that held runs start by themselves. On the real database, pass by pass.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import { releaseThawed } from '#engine/gates/release-loop.ts'
import type { TargetJob } from '#engine/scheduling/assign-slots.ts'
import { cancelAction } from '#engine/scheduling/cancel.ts'
import { sweepSlots } from '#engine/scheduling/jobs.ts'
import { createScheduler, scheduleEnvironment } from '#engine/scheduling/schedule-new.ts'
import { lockScheduling } from '#model/actions/lock-scheduling.ts'
import type { Transaction } from '#platform/database/connect.ts'
import { assertStarted, withVariables } from '#test/support/calls.ts'
import { openRuns, reasonOf, refused, started } from '#test/support/runs.ts'
import {
  addEnvironment,
  createMember,
  createTestTree,
  grantRole,
  type TestTree,
} from '#test/support/world.ts'

const runs = await openRuns({ after })
const { api, db, makeHook, call, run, retry, cancel, rowOf, targetsOf, eventsOf, deployed } = runs

const queued: number[] = []
const enqueueTargets = async (_: Transaction, targets: TargetJob[]) => {
  queued.push(...targets.map(({ targetId }) => targetId))
}
const schedule = createScheduler(db, enqueueTargets)
const onError = (error: Error) => assert.fail(error)
const release = () => releaseThawed({ db, enqueueTargets, onError })

const stateOf = async (id: number) => {
  const { status, status_reason_code, has_place, gate } = await rowOf(id)
  return `${status}/${status_reason_code}${has_place ? ' with a slot' : ''}${gate ? ` at ${gate}` : ''}`
}
const HELD = 'waiting/WAITING_FREEZE at freeze'
const QUEUED = 'queued/QUEUED with a slot'
const BUSY = 'waiting/WAITING_CONCURRENCY_PIPELINE'

const soon = (minutes: number) => new Date(Date.now() + minutes * 60_000).toISOString()
const NOW = { name: 'Stop the line', reason: 'Incident 7', starts_at: '2026-01-01T00:00:00Z' }

type By = { token?: string }
const freezeAt = (at: TestTree, body: object = NOW, by: By = {}) =>
  api.request('POST', `/environments/${at.environmentId}/freezes`, { token: at.owner.token, body, ...by })
const freezeOrganization = (at: TestTree, body: object = NOW, by: By = {}) =>
  api.request('POST', `/organizations/${at.organizationId}/freezes`, { token: at.owner.token, body, ...by })
const change = (at: TestTree, id: number, body: object, by: By = {}) =>
  api.request('PUT', `/freezes/${id}`, { token: at.owner.token, body, ...by })
const remove = (at: TestTree, id: number, by: By = {}) =>
  api.request('DELETE', `/freezes/${id}`, { token: at.owner.token, ...by })
const override = (at: TestTree, id: number, by: By & { reason?: string; gate?: string } = {}) => {
  const { reason = 'Fixes the incident', gate = 'freeze', ...more } = by
  return api.request('POST', `/actions/${id}/override`, {
    token: at.owner.token,
    body: { gate, reason },
    ...more,
  })
}
const gatesOf = async (at: TestTree, id: number) =>
  (await api.request('GET', `/actions/${id}/gates`, { token: at.owner.token })).body

/** A run by hand, scheduled. */
async function start(at: TestTree, body: object = {}): Promise<number> {
  const { id } = await started(run(body, { at }))
  await schedule([id])
  return id
}

const completed = () => ({
  ...{ status: 'completed' as const, status_reason_code: 'COMPLETED' as const },
  ...{ started_at: new Date(), completed_at: new Date() },
})

const limit = (at: TestTree, count: number) =>
  sql`update pipelines set max_parallel_actions = ${count} where id = ${at.pipelineId}`.execute(db)
const limitServers = (at: TestTree, count: number) =>
  sql`update servers set max_parallel_actions = ${count} where environment_id = ${at.environmentId}`.execute(
    db,
  )
const policy = (at: TestTree, name: string) =>
  sql`update pipelines set queue_policy = ${name} where id = ${at.pipelineId}`.execute(db)

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

  test('that is removed lets held runs start, oldest first, as far as slots are free', async () => {
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
    const child = await runs.addDeployPipeline(at, 'After')
    await db
      .insertInto('pipeline_run_after')
      .values({
        pipeline_id: child,
        after_pipeline_id: at.pipelineId,
        environment_id: at.environmentId,
      })
      .execute()
    await runs.addStep(child, 'one', 1)
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
    assert.equal(await runs.jobsFor(id), 1)
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

async function isForgotten(at: TestTree): Promise<boolean> {
  const row = await db
    .selectFrom('frozen_environments')
    .selectAll()
    .where('environment_id', '=', at.environmentId)
    .executeTakeFirst()
  return row === undefined
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
    return { freeze, ids }
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

suite('an override', () => {
  test('lets a run through what is in force; a later freeze holds it again', async () => {
    const at = await createTestTree(db)
    await limit(at, 1)
    const blocker = await start(at)
    await started(freezeAt(at))
    const id = await start(at)
    assert.equal(await stateOf(id), BUSY)
    assert.equal((await override(at, id)).status, 200)
    await started(freezeAt(at))
    await cancelAction({ db, enqueueTargets }, blocker, at.owner)
    assert.equal(await stateOf(id), HELD)
    assert.equal((await override(at, id)).status, 200)
    assert.equal(await stateOf(id), QUEUED)
    const { gates } = await gatesOf(at, id)
    assert.equal(gates.at(-1).state, 'overridden')
    assert.deepEqual(
      gates.at(-1).details.overrides.map(({ reason }: { reason: string }) => reason),
      ['Fixes the incident', 'Fixes the incident'],
    )
  })

  test('can be given at the start, and with a retry', async () => {
    const at = await createTestTree(db)
    await started(freezeAt(at))
    const given = { override: [{ gate: 'freeze', reason: 'Hotfix' }] }
    const id = await start(at, given)
    assert.equal(await stateOf(id), QUEUED)
    await cancelAction({ db, enqueueTargets }, id, at.owner)
    const again = await started(retry(id, { at }))
    await schedule([again.id])
    assert.equal(await stateOf(again.id), HELD)
    const third = await started(
      api.request('POST', `/actions/${id}/retry`, { token: at.owner.token, body: given }),
    )
    await schedule([third.id])
    assert.equal(await stateOf(third.id), QUEUED)
  })

  test('requires environment:edit, for a freeze of the organization organization:edit, and is audited', async () => {
    const at = await createTestTree(db)
    const developer = await createMember(db, at, 'developer')
    await started(freezeAt(at))
    const id = await start(at)
    await refused(override(at, id, { token: developer.token }), 403, 'forbidden')
    const body = { override: [{ gate: 'freeze', reason: 'Hotfix' }] }
    await refused(run(body, { at, token: developer.token }), 403, 'forbidden')
    const { rows: stored } =
      await sql`select from actions where environment_id = ${at.environmentId}`.execute(db)
    assert.equal(stored.length, 1)
    assert.equal((await override(at, id)).status, 200)
    const { rows } = await sql<{ verb: string; after: { reason: string } }>`
      select verb, after from audit_entries where subject_type = 'action' and subject_id = ${String(id)}`.execute(
      db,
    )
    assert.deepEqual(
      rows.map(({ verb, after }) => [verb, after.reason]),
      [['overrode', 'Fixes the incident']],
    )
  })

  /** Someone who may edit the environment, and not the organization. */
  async function environmentAdmin(at: TestTree): Promise<string> {
    const person = await createMember(db, at, 'viewer')
    await grantRole(db, person.id, 'admin', at)
    return person.token
  }

  test('of an organization’s freeze is not for people who may only edit the environment', async () => {
    const at = await createTestTree(db)
    const token = await environmentAdmin(at)
    await started(freezeOrganization(at))
    const id = await start(at)
    await refused(override(at, id, { token }), 403, 'forbidden')
    assert.equal(await stateOf(id), HELD)
    await refused(freezeOrganization(at, NOW, { token }), 403, 'forbidden')
    assert.equal((await freezeAt(at, NOW, { token })).status, 201)
  })

  test('of a run that nothing holds, that has started or has ended is a conflict', async () => {
    const at = await createTestTree(db)
    const id = await start(at)
    assert.equal(await reasonOf(override(at, id)), 'No freeze holds the action.')
    assert.equal(await reasonOf(override(at, id, { gate: 'checks' })), 'The action does not wait for checks.')
    await cancelAction({ db, enqueueTargets }, id, at.owner)
    assert.equal(await reasonOf(override(at, id)), 'The action has already ended.')
  })
})

suite('the routes of freezes', () => {
  const WEEKEND = {
    name: 'Weekend',
    reason: 'Nobody is on call',
    weekly: { from: { day: 'friday', time: '16:00' }, to: { day: 'monday', time: '08:00' } },
    time_zone: 'Europe/Berlin',
  }

  test('create, list, change and remove, with an audit entry each', async () => {
    const at = await createTestTree(db)
    const created = await started(freezeAt(at, WEEKEND))
    assert.deepEqual(created.weekly, WEEKEND.weekly)
    assert.deepEqual([created.starts_at, created.ends_at, created.when_over], [null, null, 'all'])
    const wide = await started(freezeOrganization(at))
    assert.deepEqual([wide.environment_id, wide.in_force, wide.in_force_until], [null, true, null])
    const list = async (path: string) =>
      (await api.request('GET', path, { token: at.owner.token })).body.map(({ id }: { id: number }) => id)
    assert.deepEqual(await list(`/environments/${at.environmentId}/freezes`), [wide.id, created.id])
    assert.deepEqual(await list(`/organizations/${at.organizationId}/freezes`), [wide.id])
    const changed = await change(at, created.id, {
      starts_at: '2026-01-01T00:00:00+01:00',
      ends_at: soon(60),
    })
    assert.equal(changed.status, 200, changed.text)
    assert.deepEqual([changed.body.weekly, changed.body.time_zone], [null, null])
    assert.equal(changed.body.starts_at, '2025-12-31T23:00:00.000Z')
    assert.equal((await remove(at, created.id)).status, 204)
    assert.equal((await remove(at, created.id)).status, 404)
    const { rows } = await sql<{ verb: string }>`
      select verb from audit_entries where subject_type = 'freeze' and subject_id = ${String(created.id)} order by id`.execute(
      db,
    )
    assert.deepEqual(
      rows.map(({ verb }) => verb),
      ['created', 'changed', 'removed'],
    )
  })

  test('reject times that make no sense, each at its field', async () => {
    const at = await createTestTree(db)
    const faults = async (body: object) => {
      const { body: answer, status } = await freezeAt(at, { name: 'F', reason: 'r', ...body })
      assert.equal(status, 422)
      return Object.keys(answer.errors).sort()
    }
    const week = { weekly: WEEKEND.weekly }
    assert.deepEqual(await faults({}), ['starts_at'])
    assert.deepEqual(await faults({ starts_at: NOW.starts_at, time_zone: 'UTC' }), ['time_zone'])
    assert.deepEqual(await faults(week), ['time_zone'])
    assert.deepEqual(await faults({ ...week, time_zone: 'Mars/Olympus' }), ['time_zone'])
    assert.deepEqual(await faults({ ...week, time_zone: '+02:00' }), ['time_zone'])
    assert.deepEqual(await faults({ ...week, time_zone: 'UTC', starts_at: NOW.starts_at }), ['starts_at'])
    assert.deepEqual(await faults({ ...week, time_zone: 'UTC', ends_at: NOW.starts_at }), ['ends_at'])
    assert.deepEqual(await faults({ starts_at: soon(1), ends_at: soon(0) }), ['ends_at'])
    assert.deepEqual(await faults({ starts_at: '0000-01-01T00:00:00Z' }), ['starts_at'])
    const { from } = WEEKEND.weekly
    assert.deepEqual(await faults({ weekly: { from, to: from }, time_zone: 'UTC' }), ['weekly.to'])
    assert.deepEqual(
      await faults({ weekly: { from, to: { day: 'monday', time: '24:00' } }, time_zone: 'UTC' }),
      ['weekly.to.time'],
    )
    assert.deepEqual(await faults({ starts_at: soon(0), reason: '' }), ['reason'])
  })

  test('runs are found by their gate and their branch, with other filters', async () => {
    const at = await createTestTree(db)
    await limit(at, 0)
    await limitServers(at, 0)
    const find = async (query: string) => {
      const path = `/actions?filter[environment_id]=${at.environmentId}&${query}`
      const { body, status } = await api.request('GET', path, { token: at.owner.token })
      assert.equal(status, 200, JSON.stringify(body))
      return body.map(({ id }: { id: number }) => id)
    }
    const ended = await start(at, { source_ref: 'main' })
    await cancelAction({ db, enqueueTargets }, ended, at.owner)
    const running = await start(at, { source_ref: 'main' })
    const other = await start(at, { source_ref: 'next' })
    await started(freezeAt(at))
    const held = await start(at, { source_ref: 'main' })
    assert.deepEqual(await find('filter[gate]=freeze'), [held])
    assert.deepEqual(await find('filter[gate]=checks,approval'), [])
    assert.deepEqual(await find('filter[branch]=main'), [held, running, ended])
    assert.deepEqual(await find('filter[branch]=refs/heads/next'), [other])
    assert.deepEqual(await find('filter[branch]=main&filter[status]=failed,queued'), [running, ended])
    assert.deepEqual(await find('filter[branch]=main&filter[gate]=freeze'), [held])
    assert.deepEqual(await find('filter[branch]=next&filter[gate]=freeze'), [])
    assert.deepEqual(await find(`filter[branch]=main&filter[user_id]=${at.owner.id}&per_page=1&page=2`), [
      running,
    ])
    assert.deepEqual(await find('filter[branch]=main&filter[trigger_type]=hook'), [])
    const bad = await api.request('GET', '/actions?filter[gate]=door&filter[branch]=', {
      token: at.owner.token,
    })
    assert.deepEqual(Object.keys(bad.body.errors), ['filter[gate]', 'filter[branch]'])
  })

  test('show the gates of a run, and its branch', async () => {
    const at = await createTestTree(db)
    const id = await start(at, { source_ref: 'main' })
    await limit(at, 0)
    const open = await gatesOf(at, id)
    assert.equal(open.branch, 'main')
    assert.deepEqual(
      open.gates.map(({ gate, state, since, until }: Record<string, unknown>) => [gate, state, since, until]),
      [['freeze', 'open', null, null]],
    )
    const ends_at = soon(60)
    const freeze = await started(freezeAt(at, { ...NOW, ends_at }))
    const held = await start(at)
    const [gate] = (await gatesOf(at, held)).gates
    assert.equal(gate.state, 'closed')
    assert.equal(gate.until, ends_at)
    assert.ok(Date.parse(gate.since) <= Date.now())
    const { id: freezeId, name, reason } = freeze
    assert.deepEqual(gate.details.freezes, [
      { id: freezeId, name, reason, environment_id: at.environmentId, until: ends_at },
    ])
    await remove(at, freezeId)
    await release()
    const [left] = (await gatesOf(at, held)).gates
    assert.equal(left.state, 'open')
    assert.ok(left.since >= gate.since)
  })
})
