// People who let runs through a freeze: which ones, and with which permissions.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import { cancelAction } from '#engine/scheduling/cancel.ts'
import { WEEKDAYS } from '#platform/vocabulary.ts'
import { BUSY, HELD, NOW, openFreezes, QUEUED, soon } from '#test/support/freezes.ts'
import { reasonOf, refused, started } from '#test/support/runs.ts'
import { createMember, createPerson, createTestTree, grantRole, type TestTree } from '#test/support/world.ts'

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
  change,
  remove,
  release,
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

  test('is part of a plan, for people who may give it', async () => {
    const at = await createTestTree(db)
    await started(freezeAt(at))
    const plan = (body: object, by: { token?: string } = {}) =>
      api.request('POST', `/pipelines/${at.pipelineId}/plan`, { token: at.owner.token, body, ...by })
    const gatesIn = async (body: object) => {
      const planned = (await plan(body)).body
      const gates = planned.gates.map(({ gate, state }: Record<string, string>) => `${gate} ${state}`)
      return [planned.would_wait, ...gates]
    }
    const reason = 'Fixes the incident'
    assert.deepEqual(await gatesIn({}), ['WAITING_FREEZE', 'freeze closed'])
    assert.deepEqual(await gatesIn({ override: [{ gate: 'freeze', reason }] }), [null, 'freeze overridden'])
    assert.deepEqual(await gatesIn({ override: [{ gate: 'checks', reason }] }), [
      'WAITING_FREEZE',
      'freeze closed',
    ])
    const developer = await createMember(db, at, 'developer')
    const body = { override: [{ gate: 'freeze', reason }] }
    assert.equal((await plan(body, { token: developer.token })).status, 403)
    assert.equal((await plan({}, { token: developer.token })).status, 200)
    await started(freezeOrganization(at))
    const editor = await createPerson(db)
    await grantRole(db, editor.id, 'admin', at)
    assert.equal((await plan(body, { token: editor.token })).status, 403)
    assert.deepEqual(await gatesIn(body), [null, 'freeze overridden'])
  })

  /** A run with an override, behind another one, in an environment with this freeze. */
  async function overriddenBehind(at: TestTree, body: object) {
    await limit(at, 1)
    const blocker = await start(at)
    const freeze = await started(freezeAt(at, body))
    const id = await start(at)
    assert.equal((await override(at, id)).status, 200)
    const pass = () => cancelAction({ db, enqueueTargets }, blocker, at.owner)
    return { id, freeze, pass }
  }

  test('does not cover the freeze once that was moved', async () => {
    const at = await createTestTree(db)
    const { id, freeze, pass } = await overriddenBehind(at, { ...NOW, ends_at: soon(60) })
    assert.equal((await gatesOf(at, id)).gates.at(-1).state, 'overridden')
    const moved = await change(at, freeze.id, { starts_at: '2026-01-02T00:00:00Z', ends_at: soon(120) })
    assert.equal(moved.status, 200)
    const [gate] = (await gatesOf(at, id)).gates
    assert.deepEqual(
      [gate.state, gate.details.freezes.map((one: { id: number }) => one.id)],
      ['closed', [freeze.id]],
    )
    await pass()
    assert.equal(await stateOf(id), HELD)
    assert.equal((await override(at, id)).status, 200)
    assert.equal(await stateOf(id), QUEUED)
  })

  test('still covers the freeze when that takes longer, or has another name', async () => {
    const at = await createTestTree(db)
    const { id, freeze, pass } = await overriddenBehind(at, { ...NOW, ends_at: soon(60) })
    assert.equal((await change(at, freeze.id, { name: 'Longer', ends_at: soon(600) })).status, 200)
    await pass()
    assert.equal(await stateOf(id), QUEUED)
  })

  const sinceToday = (days: number) => WEEKDAYS[(new Date().getUTCDay() + 6 + days + 7) % 7]!
  /** In force now, since two days ago. */
  const weekly = (fromDays: number, time: string) => ({
    weekly: { from: { day: sinceToday(fromDays), time }, to: { day: sinceToday(2), time: '00:00' } },
  })
  const WEEKLY = { name: 'Every week', reason: 'Away', time_zone: 'UTC', ...weekly(-2, '00:00') }

  test('covers this window of a weekly freeze, and no later one', async () => {
    const at = await createTestTree(db)
    const { id, pass } = await overriddenBehind(at, WEEKLY)
    // As if it had been given a week ago.
    await sql`
      update gate_overrides set created_at = created_at - interval '7 days',
        freeze_starts = array(select start - interval '7 days' from unnest(freeze_starts) as start)
      where action_id = ${id}`.execute(db)
    assert.equal((await gatesOf(at, id)).gates.at(-1).state, 'closed')
    await pass()
    assert.equal(await stateOf(id), HELD)
  })

  test('covers a weekly freeze while its window is open', async () => {
    const at = await createTestTree(db)
    const { id, pass } = await overriddenBehind(at, WEEKLY)
    await pass()
    assert.equal(await stateOf(id), QUEUED)
  })

  test('does not cover a weekly freeze whose window was moved', async () => {
    const at = await createTestTree(db)
    const { id, freeze, pass } = await overriddenBehind(at, WEEKLY)
    assert.equal((await change(at, freeze.id, weekly(-2, '00:01'))).status, 200)
    await pass()
    assert.equal(await stateOf(id), HELD)
  })

  test('that an earlier release stored covers the window in which it was given', async () => {
    const at = await createTestTree(db)
    const { id, pass } = await overriddenBehind(at, WEEKLY)
    const other = await start(at)
    assert.equal((await override(at, other)).status, 200)
    await sql`update gate_overrides set freeze_starts = '{}' where action_id in (${id}, ${other})`.execute(db)
    await sql`
      update gate_overrides set created_at = created_at - interval '7 days' where action_id = ${other}`.execute(
      db,
    )
    await pass()
    assert.deepEqual([await stateOf(id), await stateOf(other)], [QUEUED, HELD])
  })

  test('is no longer shown as what let the run through, once another freeze held it and is over', async () => {
    const at = await createTestTree(db)
    const { id, freeze, pass } = await overriddenBehind(at, NOW)
    await remove(at, freeze.id)
    const second = await started(freezeAt(at))
    await pass()
    assert.equal(await stateOf(id), HELD)
    await remove(at, second.id)
    await release()
    assert.equal(await stateOf(id), QUEUED)
    const [gate] = (await gatesOf(at, id)).gates
    assert.equal(gate.state, 'open')
    assert.equal(gate.details.overrides.length, 1)
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

  test('requires the scope manage of a personal access token, at the start and with a retry as well', async () => {
    const at = await createTestTree(db)
    const tokenWith = async (scopes: string[]) => {
      const body = { name: 'CI', scopes }
      return (
        await started(api.request('POST', '/users/personal-access-tokens', { token: at.owner.token, body }))
      ).token as string
    }
    await started(freezeAt(at))
    const id = await start(at)
    const token = await tokenWith(['read', 'run'])
    const body = { override: [{ gate: 'freeze', reason: 'Hotfix' }] }
    await refused(override(at, id, { token }), 403, 'forbidden')
    await refused(run(body, { at, token }), 403, 'forbidden')
    await cancelAction({ db, enqueueTargets }, id, at.owner)
    await refused(api.request('POST', `/actions/${id}/retry`, { token, body }), 403, 'forbidden')
    const manager = await tokenWith(['read', 'run', 'manage'])
    const next = await started(run(body, { at, token: manager }))
    await schedule([next.id])
    assert.equal(await stateOf(next.id), QUEUED)
  })

  test('of checks at the start needs no permission for a freeze that it does not cover', async () => {
    const at = await createTestTree(db)
    const token = await environmentAdmin(at)
    await started(freezeOrganization(at))
    const id = (await started(run({ override: [{ gate: 'checks', reason: 'Hotfix' }] }, { at, token }))).id
    await schedule([id])
    assert.equal(await stateOf(id), HELD)
    const both = ['checks', 'freeze'].map((gate) => ({ gate, reason: 'Hotfix' }))
    await refused(run({ override: both }, { at, token }), 403, 'forbidden')
  })

  test('of a run that nothing holds, that has started or has ended is a conflict', async () => {
    const at = await createTestTree(db)
    const id = await start(at)
    assert.equal(
      await reasonOf(override(at, id)),
      'No freeze holds the action. GET /actions/{id}/gates says what it waits for.',
    )
    assert.match(
      await reasonOf(override(at, id, { gate: 'checks' })),
      /^The action does not wait for checks\./,
    )
    await cancelAction({ db, enqueueTargets }, id, at.owner)
    assert.equal(await reasonOf(override(at, id)), 'The action has already ended.')
  })
})
