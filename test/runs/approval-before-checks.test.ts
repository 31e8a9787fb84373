// Runs that wait for checks and need approval: people decide while the checks still run, and both have to be there.
import assert from 'node:assert/strict'
import { after, afterEach, suite, test } from 'node:test'
import { sql } from 'kysely'
import { prepareDue } from '#engine/gates/approval-loop.ts'
import { expireDue } from '#engine/gates/expire-approvals.ts'
import { requestMissing, scheduleEnvironment } from '#engine/scheduling/schedule-new.ts'
import { REASON_AND_ASKED } from '#model/hooks/presets/parts.ts'
import { assertStarted } from '#test/support/calls.ts'
import { ASKING, FAILED, openChecks, QUEUED } from '#test/support/checks.ts'
import { started } from '#test/support/runs.ts'
import { createMember, type Person, type TestTree } from '#test/support/world.ts'

const ASKED = 'waiting/WAITING_APPROVAL at approval'

const world = await openChecks({ after })
const { db, api, deps, start, stateOf, look, later } = world
const { signal } = new AbortController()
const prepare = () => prepareDue(deps, signal)
const expire = () => expireDue(deps)

const requireApproval = async (at: TestTree, approval: object | null = {}) => {
  const { status, text } = await api.request('PUT', `/environments/${at.environmentId}`, {
    token: at.owner.token,
    body: { approval },
  })
  assert.equal(status, 200, text)
}

/** Runs of the tree wait for the status `build`, which is pending, and for one approval. */
async function openTree(approval: object | null = {}) {
  const { at, host, tip } = await world.openTree('github', { names: ['build'], settle_seconds: 0 })
  const admin = await createMember(db, at, 'admin')
  if (approval) await requireApproval(at, approval)
  const report = async (state: 'pending' | 'success' | 'failure') => {
    host.set({ repository: 'acme/shop', sha: tip, context: 'build', state })
    await later(31)
    await look()
  }
  await report('pending')
  /** By hand, and prepared. */
  const startPrepared = async () => {
    const id = await start(at)
    await prepare()
    return id
  }
  return { at, admin, tip, report, startPrepared }
}

const gatesOf = async (id: number, { token }: { token: string }) => {
  const { body } = await api.request('GET', `/actions/${id}/gates`, { token })
  const [checks, approval] = body.gates
  return { checks, approval }
}

async function decide(verb: 'approve' | 'reject', id: number, by: Person) {
  const subject = (await gatesOf(id, by)).approval.details.subject ?? 'none'
  return api.request('POST', `/actions/${id}/${verb}`, { token: by.token, body: { subject } })
}

const approve = async (id: number, by: Person) => {
  const { status, text } = await decide('approve', id, by)
  assert.equal(status, 200, text)
}

/** The runs that wait for this person: in the list, and on the overview. */
async function waitingFor({ token }: Person): Promise<number[]> {
  const list = await api.request('GET', '/actions?filter[approvable]=true', { token })
  const overview = await api.request('GET', '/overview', { token })
  const ids = (items: { id: number }[]) => items.map(({ id }) => id)
  assert.deepEqual(ids(overview.body.waiting_for_you.items), ids(list.body))
  return ids(list.body)
}

/** What a message to a receiver would say about it. */
async function messageOf(id: number, at: TestTree): Promise<string> {
  const { token } = at.owner
  const hook = await api.request('POST', `/pipelines/${at.pipelineId}/hooks/outgoing`, {
    token,
    body: {
      name: `Chat ${id}`,
      target_url: 'http://127.0.0.1:9/',
      settings: { request_body: { text: REASON_AND_ASKED } },
      trigger_when: { events: ['action.approval_requested'] },
    },
  })
  assert.equal(hook.status, 201, hook.text)
  const body = { action_id: id }
  const preview = await api.request('POST', `/hooks/outgoing/${hook.body.id}/preview`, { token, body })
  assert.equal(preview.status, 200, preview.text)
  return JSON.parse(preview.body.body).text
}

async function eventsOf(id: number): Promise<string[]> {
  const { rows } = await sql<{ kind: string }>`
    select gate_event || ' ' || status_reason_code as kind from events
    where action_id = ${id} and gate_event is not null order by id`.execute(db)
  return rows.map(({ kind }) => kind)
}

suite('while the checks of a run are not green', () => {
  afterEach(async () => {
    await sql`update check_requests set expires_at = null, due_at = null`.execute(db)
    await sql`update commit_checks set due_at = null`.execute(db)
    await sql`update approval_requests set expires_at = null, due_at = null`.execute(db)
  })

  test('people are asked, approve it, and it starts when they are', async () => {
    const { at, admin, report, startPrepared } = await openTree()
    const id = await startPrepared()
    assert.equal(await stateOf(id), ASKING)
    const { checks, approval } = await gatesOf(id, admin)
    assert.deepEqual([checks.state, approval.state], ['closed', 'closed'])
    assert.deepEqual([approval.details.is_preparing, approval.details.you_may_approve], [false, true])
    assert.ok(approval.until)
    assert.deepEqual(await waitingFor(admin), [id])
    assert.deepEqual(await waitingFor(at.owner), [], 'who started it')
    const { body: me } = await api.request('GET', '/users/me', { token: admin.token })
    assert.equal(await messageOf(id, at), `Waiting for checks (0 of 1), asked: ${me.name}`)
    await approve(id, admin)
    assert.equal(await stateOf(id), ASKING)
    assert.equal((await gatesOf(id, admin)).approval.state, 'open')
    assert.deepEqual(await waitingFor(admin), [])
    assert.equal((await decide('approve', id, admin)).status, 409)
    await report('success')
    assert.equal(await stateOf(id), QUEUED)
    assert.deepEqual(
      (await eventsOf(id)).filter((event) => !event.startsWith('gate_changed')),
      ['approval_requested WAITING_CHECKS', 'approved WAITING_CHECKS'],
    )
  })

  test('one rejection ends it', async () => {
    const { admin, report, startPrepared } = await openTree()
    const id = await startPrepared()
    assert.equal((await decide('reject', id, admin)).status, 200)
    assert.equal(await stateOf(id), 'failed/FAILED_REJECTED')
    const { checks, approval } = await gatesOf(id, admin)
    assert.deepEqual([checks.state, approval.state], ['failed', 'failed'], 'neither opened')
    await report('success')
    assert.equal(await stateOf(id), 'failed/FAILED_REJECTED')
  })

  test('an approval does not help: red ones end it, and so does their timeout', async () => {
    const red = await openTree()
    const id = await red.startPrepared()
    await approve(id, red.admin)
    await red.report('failure')
    assert.equal(await stateOf(id), FAILED)
    const slow = await openTree()
    const approved = await slow.startPrepared()
    await approve(approved, slow.admin)
    const asked = await slow.startPrepared()
    await later(3_600)
    await look()
    assert.deepEqual([await stateOf(approved), await stateOf(asked)], [FAILED, FAILED])
    assert.deepEqual(await waitingFor(slow.admin), [])
  })

  test('it expires when no one approves it in time, and not once it is approved', async () => {
    const { admin, report, startPrepared } = await openTree({ expires_after_minutes: 10 })
    const [forgotten, approved] = [await startPrepared(), await startPrepared()]
    await approve(approved, admin)
    await sql`update approval_requests set expires_at = expires_at - interval '11 minutes'`.execute(db)
    await expire()
    assert.deepEqual([await stateOf(forgotten), await stateOf(approved)], ['skipped/SKIPPED_EXPIRED', ASKING])
    await report('success')
    assert.deepEqual([await stateOf(forgotten), await stateOf(approved)], ['skipped/SKIPPED_EXPIRED', QUEUED])
  })

  test('what changes after its approval makes it wait for people again, once they are green', async () => {
    const { at, admin, report, startPrepared } = await openTree()
    const id = await startPrepared()
    await approve(id, admin)
    await sql`update applications set build_command = 'other' where id = ${at.applicationId}`.execute(db)
    await report('success')
    assert.equal(await stateOf(id), ASKED)
    await prepare()
    const { approval } = await gatesOf(id, admin)
    assert.deepEqual([approval.state, approval.details.decisions[0].lapsed_at !== null], ['closed', true])
    await approve(id, admin)
    assert.equal(await stateOf(id), QUEUED)
  })

  test('what changes before its approval is shown again', async () => {
    const { at, admin, startPrepared } = await openTree()
    const id = await startPrepared()
    const { subject } = (await gatesOf(id, admin)).approval.details
    await sql`update applications set build_command = 'other' where id = ${at.applicationId}`.execute(db)
    const outdated = await api.request('POST', `/actions/${id}/approve`, {
      token: admin.token,
      body: { subject },
    })
    assert.deepEqual([outdated.status, outdated.body.code], [409, 'approval_outdated'])
    await prepare()
    await approve(id, admin)
    assert.equal(await stateOf(id), ASKING)
  })

  test('once they are green, people who were asked are not asked again, and their time goes on', async () => {
    const { admin, report, startPrepared } = await openTree()
    const id = await startPrepared()
    const { until } = (await gatesOf(id, admin)).approval
    await report('success')
    assert.equal(await stateOf(id), ASKED)
    await prepare()
    const { checks, approval } = await gatesOf(id, admin)
    assert.deepEqual([checks.state, approval.state, approval.until], ['open', 'closed', until])
    assert.equal((await eventsOf(id)).filter((event) => event.startsWith('approval_requested')).length, 1)
    await approve(id, admin)
    assert.equal(await stateOf(id), QUEUED)
  })

  test('it needs as many approvals as ever, before or after they are green, and an override is none', async () => {
    const { at, admin, report, startPrepared } = await openTree({ required: 2 })
    const other = await createMember(db, at, 'admin')
    const [id, overridden] = [await startPrepared(), await startPrepared()]
    for (const one of [id, overridden]) await approve(one, admin)
    const body = { gate: 'checks', reason: 'The runner is broken' }
    const override = await api.request('POST', `/actions/${overridden}/override`, {
      token: at.owner.token,
      body,
    })
    assert.equal(override.status, 200, override.text)
    assert.equal(await stateOf(overridden), ASKED)
    await report('success')
    assert.equal(await stateOf(id), ASKED)
    for (const one of [id, overridden]) {
      await approve(one, other)
      assert.equal(await stateOf(one), QUEUED)
    }
  })

  test('an approver who loses the permission does not count any more', async () => {
    const { at, admin, report, startPrepared } = await openTree()
    const id = await startPrepared()
    await approve(id, admin)
    await sql`update grants set built_in_role = 'viewer' where user_id = ${admin.id}`.execute(db)
    await report('success')
    assert.equal(await stateOf(id), ASKED)
    const { approval } = await gatesOf(id, at.owner)
    assert.deepEqual([approval.details.decisions[0].counts, approval.details.required], [false, 1])
    const other = await createMember(db, at, 'admin')
    const { name } = (await api.request('GET', '/users/me', { token: other.token })).body
    assert.ok((await messageOf(id, at)).endsWith(` (0 of 1), asked: ${name}`))
  })

  test('approval may be required since: people are asked soon', async () => {
    const { at, admin, report, startPrepared } = await openTree(null)
    const id = await startPrepared()
    await requireApproval(at)
    await sql`update actions set updated_at = updated_at - interval '1 minute' where id = ${id}`.execute(db)
    await requestMissing(db, 'missing')
    await prepare()
    assert.deepEqual(await waitingFor(admin), [id])
    await approve(id, admin)
    await report('success')
    assert.equal(await stateOf(id), QUEUED)
  })

  test('more approvals may be required since: people are asked for the rest', async () => {
    const { at, admin, report, startPrepared } = await openTree()
    const other = await createMember(db, at, 'admin')
    const id = await startPrepared()
    await approve(id, admin)
    await requireApproval(at, { required: 2 })
    await prepare()
    const { approval } = await gatesOf(id, other)
    assert.deepEqual([approval.state, approval.until !== null], ['closed', true])
    assert.deepEqual([await waitingFor(other), await waitingFor(admin)], [[id], []])
    await approve(id, other)
    assert.equal((await gatesOf(id, admin)).approval.state, 'open')
    await report('success')
    assert.equal(await stateOf(id), QUEUED)
  })

  test('a setting that its approvals meet as well asks no one again', async () => {
    const { at, admin, startPrepared } = await openTree()
    const id = await startPrepared()
    await approve(id, admin)
    await requireApproval(at, { from: { user_ids: [admin.id] } })
    await prepare()
    assert.equal((await gatesOf(id, admin)).approval.state, 'open')
    assert.equal((await eventsOf(id)).filter((event) => event.startsWith('approval_requested')).length, 1)
  })

  test('a retry of it is asked about anew', async () => {
    const { at, admin, report, startPrepared } = await openTree()
    const first = await startPrepared()
    await approve(first, admin)
    await report('failure')
    const { id } = await started(world.retry(first, { at }))
    await report('pending')
    await world.schedule([id])
    await look()
    await prepare()
    assert.equal(await stateOf(id), ASKING)
    assert.deepEqual(await waitingFor(admin), [id])
    await approve(id, admin)
    await report('success')
    assert.equal(await stateOf(id), QUEUED)
  })

  test('so of a run that follows another one, once that has completed', async () => {
    const { at, admin, report } = await openTree({ operations: ['deploy'] })
    const { id: before } = await db
      .insertInto('pipelines')
      .values({
        ...{ environment_id: at.environmentId, resource_type: 'application' as const, name: 'Before' },
        ...{ application_id: at.applicationId, operation: 'custom', created_by: at.owner.id },
      })
      .returning('id')
      .executeTakeFirstOrThrow()
    await world.addStep(before, 'one', 1)
    const link = { pipeline_id: at.pipelineId, after_pipeline_id: before, environment_id: at.environmentId }
    await db.insertInto('pipeline_run_after').values(link).execute()
    const path = `/pipelines/${before}/actions`
    const parent = await started(api.request('POST', path, { token: at.owner.token, body: {} }))
    const { id } = parent.children[0]
    await world.schedule([parent.id])
    await look()
    await prepare()
    assert.deepEqual(await waitingFor(admin), [])
    await sql`
      update actions set status = 'in-progress', status_reason_code = 'IN_PROGRESS', started_at = now()
      where id = ${parent.id}`.execute(db)
    await sql`
      update targets set status = 'completed', status_reason_code = 'COMPLETED', started_at = now(), completed_at = now()
      where action_id = ${parent.id}`.execute(db)
    await scheduleEnvironment(db, at.environmentId, { actionIds: [parent.id] }, deps.enqueueTargets)
    await look()
    await prepare()
    assert.equal(await stateOf(id), ASKING)
    await approve(id, admin)
    await report('success')
    assert.equal(await stateOf(id), QUEUED)
  })

  test('a run of the queue policy latest supersedes older ones only after both', async () => {
    const { at, admin, report } = await openTree()
    await sql`update pipelines set queue_policy = 'latest' where id = ${at.pipelineId}`.execute(db)
    await sql`update tree_version set version = version + 1`.execute(db)
    const hook = await world.makeHook({}, at)
    const ids = [
      assertStarted(await world.call(hook, { n: 1 })),
      assertStarted(await world.call(hook, { n: 2 })),
    ]
    await world.schedule(ids)
    await look()
    await prepare()
    const [older, newer] = ids as [number, number]
    await approve(newer, admin)
    assert.deepEqual([await stateOf(older), await stateOf(newer)], [ASKING, ASKING])
    // What was approved is not what would start now.
    await sql`update applications set build_command = 'other' where id = ${at.applicationId}`.execute(db)
    await report('success')
    assert.deepEqual([await stateOf(older), await stateOf(newer)], [ASKED, ASKED])
    await prepare()
    await approve(newer, admin)
    assert.match(await stateOf(older), /^skipped/)
    assert.equal(await stateOf(newer), QUEUED)
  })
})
