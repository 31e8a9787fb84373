// People who let runs through a freeze: which ones, and with which permissions.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import { cancelAction } from '#engine/scheduling/cancel.ts'
import { BUSY, HELD, NOW, openFreezes, QUEUED } from '#test/support/freezes.ts'
import { reasonOf, refused, started } from '#test/support/runs.ts'
import { createMember, createTestTree, grantRole, type TestTree } from '#test/support/world.ts'

const world = await openFreezes({ after })
const {
  api,
  db,
  run,
  retry,
  enqueueTargets,
  schedule,
  stateOf,
  freezeAt,
  freezeOrganization,
  override,
  gatesOf,
  start,
  limit,
} = world

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
