// Where people, receivers and metrics see runs that wait for approval.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import { lookAtStale } from '#engine/gates/stale-approvals.ts'
import { readInstallation } from '#ops/metrics/read-state.ts'
import { openApprovals, QUEUED, tip } from '#test/support/approvals.ts'
import { createMember, type Person, type TestTree } from '#test/support/world.ts'

const {
  api,
  db,
  prepare,
  stateOf,
  setApproval,
  openTree,
  approvalOf,
  approve,
  reject,
  start,
  startByHook,
  goLive,
} = await openApprovals({ after })

/** As stored, with the transaction that stored it. */
const requestOf = async (id: number) => {
  const { rows } = await sql`select xmin::text, r.* from approval_requests r where action_id = ${id}`.execute(
    db,
  )
  return rows[0]
}

suite('people see', () => {
  const listed = async (by: Person, at: TestTree) => {
    const query = `filter[approvable]=true&filter[environment_id]=${at.environmentId}`
    const { status, body, text } = await api.request('GET', `/actions?${query}`, { token: by.token })
    assert.equal(status, 200, text)
    return body.map(({ id }: { id: number }) => id)
  }
  const waiting = async (by: Person) => {
    const { body } = await api.request('GET', '/overview', { token: by.token })
    const { count, items } = body.waiting_for_you
    return { count, ids: items.map(({ id }: { id: number }) => id) }
  }

  test('the runs that wait for them, and no others', async () => {
    const { at, admin } = await openTree()
    const mine = await start(at, {}, { token: admin.token })
    const theirs = await start(at)
    const viewer = await createMember(db, at, 'viewer')
    assert.deepEqual(await listed(admin, at), [theirs])
    assert.deepEqual(await listed(at.owner, at), [mine])
    assert.deepEqual(await listed(viewer, at), [])
    assert.deepEqual(await waiting(admin), { count: 1, ids: [theirs] })
    assert.deepEqual(await waiting(viewer), { count: 0, ids: [] })
    await approve(theirs, admin)
    assert.deepEqual(await listed(admin, at), [])
  })

  test('only runs for which they are listed, and whose commits they did not write', async () => {
    const { at, repository, admin } = await openTree()
    await setApproval(at, { from: { user_ids: [at.owner.id] } })
    const id = await start(at, {}, { token: admin.token })
    assert.deepEqual(await listed(admin, at), [])
    assert.deepEqual(await listed(at.owner, at), [id])
    await repository.commit({ a: 'a' }, { author: { name: 'O', email: at.owner.email } })
    const byHook = await startByHook(at)
    assert.ok(!(await listed(at.owner, at)).includes(byHook))
  })

  test('what would ship now, once what is live has changed', async () => {
    const { at, repository, admin } = await openTree()
    const [first, id] = [await tip(repository), await start(at)]
    const { until, details } = await approvalOf(id, admin)
    await repository.commit({ b: '' }, { branch: 'side' })
    await goLive(at, first)
    const stored = await requestOf(id)
    const changed = (await approvalOf(id, admin)).details
    assert.deepEqual([changed.subject, changed.is_preparing, changed.you_may_approve], [null, true, false])
    // Looking writes nothing: it notifies the workers.
    assert.deepEqual(await requestOf(id), stored)
    await lookAtStale(db, id)
    await prepare()
    const now = await approvalOf(id, admin)
    // The same commit: nothing ships that was not shown, and the period goes on.
    assert.deepEqual([now.details.subject, now.until], [details.subject, until])
    await goLive(at, 'f'.repeat(40))
    await lookAtStale(db, id)
    await prepare()
    const other = await approvalOf(id, admin)
    assert.notEqual(other.details.subject, details.subject)
    assert.equal((await approve(id, admin)).status, 200)
    assert.equal(await stateOf(id), QUEUED)
  })

  test('which gate a run would wait at', async () => {
    const { at } = await openTree()
    const { body } = await api.request('POST', `/pipelines/${at.pipelineId}/plan`, {
      token: at.owner.token,
      body: {},
    })
    assert.equal(body.would_wait, 'WAITING_APPROVAL')
    assert.deepEqual(
      body.gates.map(({ gate }: { gate: string }) => gate),
      ['approval'],
    )
  })
})

test('metrics count the runs at the gate, and know the oldest', async () => {
  const { at } = await openTree()
  const before = (await readInstallation(db)).gates.find(({ gate }) => gate === 'approval')!
  const id = await start(at)
  await sql`update actions set created_at = now() - interval '400 days' where id = ${id}`.execute(db)
  const { runs, oldestSeconds } = (await readInstallation(db)).gates.find(({ gate }) => gate === 'approval')!
  assert.equal(runs, before.runs + 1)
  assert.equal(Math.round(oldestSeconds / 86_400), 400)
})

test('what happens at the gate are events', async () => {
  const { at, admin } = await openTree()
  const eventsOf = async (id: number) => {
    const rows = await db
      .selectFrom('events')
      .select(['status', 'gate_event'])
      .where('action_id', '=', id)
      .orderBy('id')
      .execute()
    return rows.map(({ status, gate_event }) => `${status} ${gate_event ?? ''}`.trim())
  }
  const [approved, rejected] = [await startByHook(at), await startByHook(at)]
  await approve(approved, admin)
  await reject(rejected, admin)
  const asked = ['waiting gate_changed', 'waiting approval_requested']
  assert.deepEqual((await eventsOf(approved)).slice(0, 4), [
    ...asked,
    'waiting approved',
    'waiting gate_changed',
  ])
  assert.deepEqual(await eventsOf(rejected), [...asked, 'waiting rejected', 'failed gate_changed'])
})
