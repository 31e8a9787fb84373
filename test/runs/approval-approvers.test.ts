// Who approves when the setting of an environment has changed while runs wait.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { ASKED, openApprovals, QUEUED } from '#test/support/approvals.ts'
import { createMember, type Person, type TestTree } from '#test/support/world.ts'

const world = await openApprovals({ after })
const { api, db, approvalOf, approve, openTree, setApproval, start, stateOf } = world

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
