// What the approval gate of a run says about itself, wherever the run is by now.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import { readInstallation } from '#ops/metrics/read-state.ts'
import { ASKED, BUSY, openApprovals, QUEUED } from '#test/support/approvals.ts'
import { openBeginTarget } from '#test/support/begin-target.ts'
import { later } from '#test/support/later.ts'
import { reasonOf, started } from '#test/support/runs.ts'
import { createAction, createMember, type TestTree } from '#test/support/world.ts'

const file = { after }
const world = await openApprovals({ after: (end: () => Promise<void>) => later(file, end) })
const { api, db, approvalOf, approve, cancel, openTree, prepare, reject } = world
const { setApproval, setPipeline, start, stateOf, targetsOf } = world

const begin = await openBeginTarget(file, world)

const countAtGate = async () =>
  (await readInstallation(db)).gates.find(({ gate }) => gate === 'approval')!.runs

const freezeAt = (at: TestTree) =>
  started(
    api.request('POST', `/environments/${at.environmentId}/freezes`, {
      token: at.owner.token,
      body: { name: 'Stop the line', reason: 'Incident 7', starts_at: '2026-01-01T00:00:00Z' },
    }),
  )

suite('the approval gate', () => {
  test('says since when it is closed, open or failed', async () => {
    const { at, admin } = await openTree()
    const [approved, rejected] = [await start(at), await start(at)]
    const asked = await approvalOf(approved, admin)
    assert.equal(asked.state, 'closed')
    assert.notEqual(asked.since, null)
    await sql`
      update approval_requests set asked_at = now() - interval '1 hour' where environment_id = ${at.environmentId}`.execute(
      db,
    )
    await approve(approved, admin)
    await reject(rejected, admin)
    for (const [id, state] of [
      [approved, 'open'],
      [rejected, 'failed'],
    ] as const) {
      const gate = await approvalOf(id, admin)
      assert.equal(gate.state, state)
      assert.ok(Date.parse(gate.since) >= Date.parse(asked.since), `${state} since ${gate.since}`)
    }
  })

  test('is not open for a run that ended there without approval', async () => {
    const { at, admin } = await openTree()
    const id = await start(at)
    assert.equal((await cancel(id, { at })).status, 202)
    assert.equal((await approvalOf(id, admin)).state, 'failed')
  })

  test('is not shown of runs that ended before approval was required', async () => {
    const { at, admin } = await openTree(null)
    const id = await start(at)
    assert.equal((await cancel(id, { at })).status, 202)
    await setApproval(at, {})
    assert.equal(await approvalOf(id, admin), undefined)
  })

  test('of a run that does not wait there yet says how many people it will need', async () => {
    const { at, admin } = await openTree(null)
    await createMember(db, at, 'admin')
    await freezeAt(at)
    const id = await start(at)
    assert.equal((await setApproval(at, { required: 2 })).status, 200)
    const { state, since, details } = await approvalOf(id, admin)
    assert.deepEqual([state, since, details.required, details.why_not], ['closed', null, 2, null])
  })

  test('is open while an approved run that had to return its slot waits for another one', async () => {
    const { at, admin } = await openTree()
    await setPipeline(at, { max_parallel_actions: 1 })
    const id = await start(at)
    await approve(id, admin)
    assert.equal(await stateOf(id), QUEUED)
    // Its workers find before the first step that something has changed.
    await sql`update servers set host = 'other.example.com' where environment_id = ${at.environmentId}`.execute(
      db,
    )
    for (const { id: targetId } of await targetsOf(id)) assert.equal(await begin(targetId), false)
    assert.equal(await stateOf(id), ASKED)
    const counted = await countAtGate()
    await createAction(db, at, {
      ...{ status: 'waiting', status_reason_code: 'WAITING_WORKER', has_place: true },
      ...{ started_at: null, completed_at: null },
    })
    await prepare()
    await approve(id, admin)
    assert.equal(await stateOf(id), BUSY)
    const { state, details } = await approvalOf(id, admin)
    assert.deepEqual([state, details.is_preparing, details.why_not], ['open', false, null])
    assert.equal(
      await reasonOf(approve(id, admin)),
      'The action does not wait for approval. GET /actions/{id}/gates says what it waits for.',
    )
    assert.equal(await countAtGate(), counted - 1)
  })
})

suite('a run that a freeze holds, of an environment that requires approval since', () => {
  test('waits for approval once a person has let it through the freeze', async () => {
    const { at, admin } = await openTree(null)
    await freezeAt(at)
    const id = await start(at)
    assert.equal(await stateOf(id), 'waiting/WAITING_FREEZE at freeze')
    await setApproval(at, {})
    const body = { gate: 'freeze', reason: 'Fixes the incident' }
    const { status } = await api.request('POST', `/actions/${id}/override`, { token: at.owner.token, body })
    assert.equal(status, 200)
    assert.equal(await stateOf(id), ASKED)
    await prepare()
    assert.equal((await approve(id, admin)).status, 200)
    assert.equal(await stateOf(id), QUEUED)
  })
})

suite('a setting', () => {
  test('that is not about a run does not shorten its period', async () => {
    const { at, admin } = await openTree()
    const id = await start(at)
    const { until } = await approvalOf(id, admin)
    await setApproval(at, { operations: ['restart'], expires_after_minutes: 1 })
    assert.equal((await approvalOf(id, admin)).until, until)
    await setApproval(at, { expires_after_minutes: 60 })
    assert.ok(Date.parse((await approvalOf(id, admin)).until) < Date.parse(until))
  })
})

suite('approved runs behind many others of which something has changed', () => {
  test('are asked for again, too, without waiting for a sweep', async () => {
    const { at, admin } = await openTree()
    await setPipeline(at, { max_parallel_actions: 1 })
    const ids: number[] = []
    for (let n = 0; n < 14; n++) {
      const id = await start(at)
      await approve(id, admin)
      ids.push(id)
    }
    await sql`update servers set host = 'other.example.com' where environment_id = ${at.environmentId}`.execute(
      db,
    )
    await cancel(ids[0]!, { at })
    await prepare()
    const states = await Promise.all(ids.slice(1).map(stateOf))
    assert.deepEqual(new Set(states), new Set([ASKED]))
  })
})
