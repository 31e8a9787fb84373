// The setting of a pipeline that says which checks its deploys wait for.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import { ASKING, addBuild, openChecks, QUEUED } from '#test/support/checks.ts'
import { createMember } from '#test/support/world.ts'

const { db, api, openTree, start, stateOf, look, later, gateOf, waitFor, cancel, stopWaiting, settle } =
  await openChecks({
    after,
  })

suite('a setting', () => {
  stopWaiting()

  test('that is tightened applies to runs that wait, or have passed; one that is loosened does not', async () => {
    const { at, host, tip } = await openTree('github', { names: ['build'] })
    await sql`update pipelines set max_parallel_actions = 1 where id = ${at.pipelineId}`.execute(db)
    addBuild(host, tip, 'success')
    const [running, behind] = [await start(at), await start(at)]
    await settle()
    assert.deepEqual(
      [await stateOf(running), await stateOf(behind)],
      [QUEUED, 'waiting/WAITING_CONCURRENCY_PIPELINE'],
    )
    assert.equal((await waitFor(at, { names: ['build', 'e2e'] })).status, 200)
    assert.equal((await cancel(running, { at })).status, 202)
    assert.equal(await stateOf(behind), ASKING)
    await later(16)
    await look()
    assert.deepEqual((await gateOf(at, behind)).details.missing, ['e2e'])
    assert.equal((await waitFor(at, null)).status, 200)
    const later1 = await start(at)
    assert.equal(await stateOf(later1), QUEUED, 'created later')
    await later(200)
    await look()
    assert.equal(await stateOf(behind), ASKING)
  })

  test('is loosened only with environment:edit, and the audit log has it', async () => {
    const { at } = await openTree('github', { names: ['build'] })
    const role = await api.request('POST', `/organizations/${at.organizationId}/roles`, {
      token: at.owner.token,
      body: {
        name: 'Pipelines',
        permissions: ['pipeline:view', 'pipeline:edit', 'application:view', 'environment:view'],
      },
    })
    assert.equal(role.status, 201, role.text)
    const person = await createMember(db, at, 'viewer')
    await db
      .insertInto('grants')
      .values({ user_id: person.id, role_id: role.body.id, organization_id: at.organizationId })
      .execute()
    const by = { token: person.token }
    assert.equal((await waitFor(at, { names: ['build', 'e2e'] }, by)).status, 200)
    for (const looser of [null, { names: ['e2e'] }, { names: ['build', 'e2e'], settle_seconds: 0 }])
      assert.equal((await waitFor(at, looser, by)).status, 403)
    assert.equal((await waitFor(at, null)).status, 200)
    const { rows } = await sql<{ before: { wait_for_checks: object }; after: { wait_for_checks: null } }>`
      select before, after from audit_entries where subject_type = 'pipeline' and subject_id = ${String(at.pipelineId)}
      order by id desc limit 1`.execute(db)
    assert.deepEqual(
      [rows[0]!.after.wait_for_checks, 'names' in rows[0]!.before.wait_for_checks],
      [null, true],
    )
  })

  test('is rejected without a credential of a host, for other operations, and with patterns that are none', async () => {
    const { at } = await openTree('github', null)
    const errorsOf = async (terms: object, pipelineId = at.pipelineId) => {
      const { status, body } = await waitFor({ ...at, pipelineId }, terms)
      assert.equal(status, 422)
      return body.errors
    }
    assert.deepEqual(Object.keys(await errorsOf({ names: ['ok', '{a'] })), ['wait_for_checks.names.1'])
    assert.deepEqual(Object.keys(await errorsOf({ timeout_minutes: 0 })), ['wait_for_checks.timeout_minutes'])
    assert.match(
      (await errorsOf({}, at.serverPipelineId)).wait_for_checks[0],
      /only for pipelines that deploy/,
    )
    await db
      .updateTable('applications')
      .set({ credential_id: null })
      .where('id', '=', at.applicationId)
      .execute()
    assert.match((await errorsOf({})).wait_for_checks[0], /must be a token of GitHub, GitLab or Gitea/)
  })
})
