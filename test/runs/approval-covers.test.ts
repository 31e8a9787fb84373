// What people are shown besides the commits, and what stops an approval that cannot know enough.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { sql } from 'kysely'
import { ASKED, openApprovals } from '#test/support/approvals.ts'
import { refused } from '#test/support/runs.ts'
import { createMember } from '#test/support/world.ts'

const world = await openApprovals({ after })
const { db, openTree, start, approvalOf, approve, prepare, stateOf } = world

test('who may approve sees servers, steps, commands and the names of variables; others do not', async () => {
  const { at, admin } = await openTree()
  await sql`
    update applications set build_command = 'npm run build' where id = ${at.applicationId}`.execute(db)
  const id = await start(at)
  const { covers } = (await approvalOf(id, admin)).details
  const { rows } = await sql<{ name: string; host: string | null }>`
    select s.name, s.host from targets t join servers s on s.id = t.server_id where t.action_id = ${id}`.execute(
    db,
  )
  assert.deepEqual(
    covers.servers.map(({ name, host }: { name: string; host: string | null }) => ({ name, host })),
    rows,
  )
  assert.equal(covers.application.build_command, 'npm run build')
  assert.ok(covers.steps.length > 0)
  assert.deepEqual(covers.variables, [])
  const viewer = await createMember(db, at, 'viewer')
  assert.equal((await approvalOf(id, viewer)).details.covers, null)
})

test('a run that needs no approval any more leaves the gate when someone wants to approve it', async () => {
  const { at, admin } = await openTree()
  const id = await start(at)
  assert.equal(await stateOf(id), ASKED)
  // As a rollback does once what it runs is what ran last.
  await sql`
    update approval_terms set terms = terms || '{"operations": ["restart"]}' where environment_id = ${at.environmentId}`.execute(
    db,
  )
  await refused(approve(id, admin), 409, 'approval_outdated')
  await prepare()
  assert.notEqual(await stateOf(id), ASKED)
})
