// Who approves when the setting of an environment, or what its approvers may do, has changed while runs wait.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import { recountApprovals } from '#engine/gates/recount-approvals.ts'
import { ASKED, openApprovals, QUEUED } from '#test/support/approvals.ts'
import { started } from '#test/support/runs.ts'
import { createMember, type Person, type TestTree } from '#test/support/world.ts'

const world = await openApprovals({ after })
const { api, db, approvalOf, approve, openTree, prepare } = world
const { setApproval, setPipeline, start, stateOf } = world

const listed = async (by: Person, at: TestTree): Promise<number[]> => {
  const query = `filter[approvable]=true&filter[environment_id]=${at.environmentId}`
  const { body } = await api.request('GET', `/actions?${query}`, { token: by.token })
  return body.map(({ id }: { id: number }) => id)
}

test('the only approver is replaced: the next one approves runs that wait, and is asked for them', async () => {
  const { at, admin } = await openTree(null)
  const next = await createMember(db, at, 'admin')
  await setApproval(at, { from: { user_ids: [admin.id] } })
  const id = await start(at)
  await setApproval(at, { from: { user_ids: [next.id] }, not_the_starter: false })
  assert.deepEqual([await listed(admin, at), await listed(next, at)], [[], [id]])
  assert.equal((await approve(id, admin)).status, 403)
  assert.equal(await stateOf(id), ASKED)
  assert.equal((await approve(id, next)).status, 200)
  assert.equal(await stateOf(id), QUEUED)
})

test('of several settings, lists and gates agree about who may approve which run', async () => {
  const { at, admin } = await openTree(null)
  const people = [at.owner, admin, await createMember(db, at, 'admin'), await createMember(db, at, 'admin')]
  const [owner, ann, bob, cy] = people.map(({ id }) => id)
  const ids: number[] = []
  const settings = [
    { from: { user_ids: [ann, bob] } },
    { required: 2, from: { user_ids: [ann, bob, cy] } },
    { from: { user_ids: [cy] } },
    { from: null, not_the_starter: false },
    { required: 2, from: { user_ids: [owner, cy] } },
  ]
  for (const setting of settings) {
    assert.equal((await setApproval(at, setting)).status, 200)
    ids.push(await start(at))
  }
  const seen = new Set<string>()
  for (const one of people) {
    const waiting = await listed(one, at)
    const may = await Promise.all(
      ids.map(async (id) => (await approvalOf(id, one)).details.you_may_approve as boolean),
    )
    assert.deepEqual(
      waiting.toSorted((a, b) => a - b),
      ids.filter((_, index) => may[index]),
    )
    seen.add(String(may))
  }
  assert.ok(seen.size > 1)
})

suite('an approval counts only while its person may approve', () => {
  /** What workers do now and then, wherever the change came from. */
  const recount = async () => {
    await recountApprovals(db)
    await prepare()
  }
  const setRole = async (at: TestTree, { id }: Person, grant: object) => {
    const path = `/organizations/${at.organizationId}/members/${id}`
    const { status, text } = await api.request('PUT', path, {
      token: at.owner.token,
      body: { grants: [grant] },
    })
    assert.equal(status, 200, text)
  }
  const setActive = (active: boolean, { id }: Person) =>
    sql`update users set active = ${active} where id = ${id}`.execute(db)
  const setFrom = async (at: TestTree, ...people: Person[]) => {
    const from = { user_ids: people.map(({ id }) => id) }
    assert.equal((await setApproval(at, { required: 2, from })).status, 200)
  }
  type Change = (at: TestTree, by: Person, others: [Person, Person]) => Promise<unknown>
  const ways: Record<string, { before?: Change; lose: Change; regain: Change }> = {
    'a role': {
      lose: (at, by) => setRole(at, by, { role: 'viewer' }),
      regain: (at, by) => setRole(at, by, { role: 'admin' }),
    },
    'an account that is deactivated': {
      lose: (_, by) => setActive(false, by),
      regain: (_, by) => setActive(true, by),
    },
    'a list of approvers that replaces the one before': {
      before: (at, by, [one]) => setFrom(at, by, one),
      lose: (at, _, others) => setFrom(at, ...others),
      regain: (at, by, [one]) => setFrom(at, by, one),
    },
  }
  const countsOf = async (id: number, by: Person) =>
    (await approvalOf(id, by)).details.decisions.map(({ counts }: { counts: boolean }) => counts)

  for (const [what, { before, lose, regain }] of Object.entries(ways))
    test(`${what}: lost, another one is needed; regained, the run starts without one`, async () => {
      const { at, admin } = await openTree(null)
      const [one, two] = [await createMember(db, at, 'admin'), await createMember(db, at, 'admin')]
      await setPipeline(at, { max_parallel_actions: 0 })
      await setApproval(at, { required: 2 })
      await before?.(at, admin, [one, two])
      const [id, other] = [await start(at), await start(at)]
      for (const run of [id, other]) assert.equal((await approve(run, admin)).status, 200)
      await lose(at, admin, [one, two])
      assert.deepEqual(await countsOf(id, at.owner), [false])
      for (const run of [id, other]) assert.equal((await approve(run, one)).status, 200)
      assert.equal(await stateOf(id), ASKED)
      assert.deepEqual(await countsOf(id, at.owner), [false, true])
      assert.equal((await approve(other, two)).status, 200)
      assert.equal(await stateOf(other), QUEUED)
      await recount()
      assert.equal(await stateOf(id), ASKED)
      await regain(at, admin, [one, two])
      assert.deepEqual(await countsOf(id, at.owner), [true, true])
      assert.deepEqual(await listed(admin, at), [])
      await recount()
      assert.equal(await stateOf(id), QUEUED)
      const { rows } = await sql`select from approvals where action_id = ${id}`.execute(db)
      assert.equal(rows.length, 2)
    })

  test('a run with fewer approvals than required is not looked at again', async () => {
    const { at, admin } = await openTree(null)
    await createMember(db, at, 'admin')
    await setApproval(at, { required: 2 })
    const id = await start(at)
    await approve(id, admin)
    await recount()
    const { details } = await approvalOf(id, admin)
    assert.deepEqual([details.is_preparing, await stateOf(id)], [false, ASKED])
  })

  test('also of a run that a freeze holds: its gate says who no longer counts, and people are asked in the end', async () => {
    const { at, admin } = await openTree()
    const other = await createMember(db, at, 'admin')
    const { id: freeze } = await started(
      api.request('POST', `/environments/${at.environmentId}/freezes`, {
        token: at.owner.token,
        body: { name: 'Stop the line', reason: 'Incident 7', starts_at: '2026-01-01T00:00:00Z' },
      }),
    )
    const id = await start(at)
    await approve(id, admin)
    assert.equal(await stateOf(id), 'waiting/WAITING_FREEZE at freeze')
    assert.deepEqual(await countsOf(id, other), [true])
    await setRole(at, admin, { role: 'viewer' })
    assert.deepEqual(await countsOf(id, other), [false])
    await api.request('DELETE', `/freezes/${freeze}`, { token: at.owner.token })
    await world.release()
    assert.equal(await stateOf(id), ASKED)
    await prepare()
    assert.deepEqual(await listed(other, at), [id])
    await approve(id, other)
    assert.equal(await stateOf(id), QUEUED)
    assert.deepEqual(await countsOf(id, other), [false, true])
  })

  test('of a run that has started nothing changes', async () => {
    const { at, admin } = await openTree()
    const id = await start(at)
    await approve(id, admin)
    await sql`
      update targets set status = 'in-progress', status_reason_code = 'IN_PROGRESS', started_at = now() where action_id = ${id}`.execute(
      db,
    )
    await sql`
      update actions set status = 'in-progress', status_reason_code = 'IN_PROGRESS', started_at = now() where id = ${id}`.execute(
      db,
    )
    await setRole(at, admin, { role: 'viewer' })
    assert.deepEqual(await countsOf(id, at.owner), [true])
  })
})
