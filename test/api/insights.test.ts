// Insights over the API: compared with generated histories, whatever retention removes, and to whom.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import { countEndedRuns } from '#engine/counts/run-days.ts'
import { recordActivation, recordRevert } from '#model/live/deployments.ts'
import { lockLive } from '#model/live/live-record.ts'
import { pruneOldData } from '#ops/retention/prune.ts'
import { generateHistory, storeHistory } from '#test/support/deployment-histories.ts'
import { openTestApp } from '#test/support/harness.ts'
import { createApplication } from '#test/support/inventory.ts'
import {
  addEnvironment,
  createAction,
  createMember,
  createPerson,
  createTestTree,
  grantRole,
  type Person,
  type TestTree,
} from '#test/support/world.ts'

const { db, request, statements } = await openTestApp({ after })

const uniqueName = () => {
  const name = `shop-${randomUUID()}`
  return { name, folder: name }
}
const insightsOf = (of: string, { token }: Person, query = '') =>
  request('GET', `${of}/insights${query}`, { token })
const ofApplication = ({ applicationId }: TestTree) => `/applications/${applicationId}`
const ofEnvironment = ({ environmentId }: TestTree) => `/environments/${environmentId}`

async function read(of: string, person: Person, query = '') {
  const { status, body, text } = await insightsOf(of, person, query)
  assert.equal(status, 200, text)
  return body
}

suite('insights', () => {
  test('of 200 applications with generated histories are what happened in them', async () => {
    const tree = await createTestTree(db)
    const place = { createdBy: tree.owner.id, environmentId: tree.environmentId }
    for (let seed = 1; seed <= 200; seed++) {
      const { runs, range, expected } = generateHistory(seed)
      const applicationId = await createApplication(db, place, [], {
        project_id: tree.projectId,
        repository: 'acme/shop',
        ...uniqueName(),
      })
      await storeHistory(db, { applicationId, environmentId: tree.environmentId }, runs)
      const query = `?from=${range.from}&to=${range.to}`
      const { history_since, ...insights } = await read(`/applications/${applicationId}`, tree.owner, query)
      assert.deepEqual(insights, expected, `history ${seed}`)
      assert.ok(history_since)
    }
  })

  test('of an environment are those of all its applications, removed ones included', async () => {
    const tree = await createTestTree(db)
    const place = { createdBy: tree.owner.id, environmentId: tree.environmentId }
    const histories = [1, 2, 3].map((seed) => generateHistory(seed))
    for (const { runs } of histories) {
      const applicationId = await createApplication(db, place, [], {
        project_id: tree.projectId,
        repository: 'acme/shop',
        ...uniqueName(),
      })
      await storeHistory(db, { applicationId, environmentId: tree.environmentId }, runs)
      await db
        .updateTable('applications')
        .set({ deleted_at: new Date() })
        .where('id', '=', applicationId)
        .execute()
    }
    const other = await createTestTree(db)
    await storeHistory(db, other, generateHistory(4).runs)
    const query = '?from=2026-09-01&to=2026-11-18'
    const total = await read(ofEnvironment(tree), tree.owner, query)
    const deployments = histories.flatMap(({ runs }) =>
      runs.filter((run) => !run.isRollback && run.hasNewCommit),
    )
    assert.equal(total.deployments.count, deployments.length)
    assert.equal(
      total.days.reduce((sum: number, day: { rollbacks: number }) => sum + day.rollbacks, 0),
      histories.flatMap(({ runs }) => runs.filter((run) => run.isRollback)).length,
    )
  })

  test('are those of the last 30 days, today included, unless the request says otherwise', async () => {
    const tree = await createTestTree(db)
    const { rows } = await sql<{ today: string }>`select current_date::text as today`.execute(db)
    const insights = await read(ofApplication(tree), tree.owner)
    assert.deepEqual([insights.to, insights.days.length], [rows[0]!.today, 30])
    assert.equal(insights.days.at(-1).date, insights.to)
    assert.equal(insights.days[0].date, insights.from)
    const { created_at } = await db
      .selectFrom('applications')
      .select('created_at')
      .where('id', '=', tree.applicationId)
      .executeTakeFirstOrThrow()
    assert.equal(insights.history_since, created_at)
    assert.equal((await read(ofEnvironment(tree), tree.owner)).history_since, created_at)
  })

  test('take the same few statements, however much there is', async () => {
    const tree = await createTestTree(db)
    await storeHistory(db, tree, generateHistory(5).runs)
    await read(ofEnvironment(tree), tree.owner)
    statements.length = 0
    await read(ofEnvironment(tree), tree.owner)
    assert.ok(statements.length <= 4, statements.join('\n'))
  })

  test('stay the same when retention removes the runs', async () => {
    const tree = await createTestTree(db)
    const old = new Date(Date.now() - 20 * 86_400_000).toISOString()
    const times = { created_at: old, started_at: old, completed_at: old }
    const commit = JSON.stringify({ hash: 'a'.repeat(40), committed_at: old })
    const id = await createAction(db, tree, {
      ...times,
      commit,
      status: 'failed',
      status_reason_code: 'FAILED_REVERTED',
    })
    await db.transaction().execute(async (trx) => {
      await lockLive(trx, tree.applicationId)
      const at = sql`${old}`
      for (const serverId of tree.serverIds) {
        const disk = { applicationId: tree.applicationId, serverId }
        await recordActivation(trx, disk, { actionId: id, replaced: null, at })
        await recordRevert(trx, disk, { actionId: id, at })
        // A repetition changes nothing.
        await recordActivation(trx, disk, { actionId: id, replaced: null, at })
        await recordRevert(trx, disk, { actionId: id, at })
      }
    })
    const before = await read(ofApplication(tree), tree.owner)
    assert.deepEqual([before.deployments.count, before.change_failure.failed], [1, 1])
    assert.deepEqual(before.restore_seconds, { p50: 0, p90: 0, samples: 1, open: 0 })
    await countEndedRuns(db)
    await pruneOldData(db, {
      defaults: { runs_days: 1, runs_per_pipeline: null, logs_days: null, requests_days: null },
      keepBodiesDays: 3_650,
      signal: AbortSignal.timeout(60_000),
    })
    assert.equal((await request('GET', `/actions/${id}`, { token: tree.owner.token })).status, 404)
    assert.deepEqual(await read(ofApplication(tree), tree.owner), before)
  })

  test('reject what is not a range, and say why', async () => {
    const tree = await createTestTree(db)
    const errorsOf = async (query: string) => {
      const { status, body } = await insightsOf(ofApplication(tree), tree.owner, query)
      assert.equal(status, 422, query)
      return Object.keys(body.errors)
    }
    assert.deepEqual(await errorsOf('?from=2026-02-30'), ['from'])
    assert.deepEqual(await errorsOf('?from=yesterday&to='), ['from', 'to'])
    assert.deepEqual(await errorsOf('?from=2026-01-02&to=2026-01-01'), ['from'])
    assert.deepEqual(await errorsOf('?from=2024-01-01&to=2025-01-01'), ['from'])
    assert.deepEqual(await errorsOf('?since=2026-01-01'), ['since'])
    assert.equal(
      (await read(ofApplication(tree), tree.owner, '?from=2024-01-01&to=2024-12-31')).days.length,
      366,
    )
    for (const query of ['?from=0001-02-01&to=0001-02-01', '?from=9999-12-31&to=9999-12-31'])
      assert.equal((await read(ofApplication(tree), tree.owner, query)).days.length, 1)
  })

  test('are shown to members, not to others, and not to those who may not see runs', async () => {
    const tree = await createTestTree(db)
    const viewer = await createMember(db, tree, 'viewer')
    const outsider = (await createTestTree(db)).owner
    const elsewhere = await createPerson(db)
    const { organizationId, projectId } = tree
    const { environmentId } = await addEnvironment(db, tree.owner.id, projectId, tree.credentialId)
    await grantRole(db, elsewhere.id, 'viewer', { organizationId, projectId, environmentId })
    const { id: roleId } = await db
      .insertInto('roles')
      .values({
        organization_id: tree.organizationId,
        name: 'No runs',
        permissions: ['application:view', 'environment:view'],
      })
      .returning('id')
      .executeTakeFirstOrThrow()
    const limited = await createPerson(db)
    await db
      .insertInto('grants')
      .values({ user_id: limited.id, organization_id: tree.organizationId, role_id: roleId })
      .execute()
    for (const path of [ofApplication(tree), ofEnvironment(tree)]) {
      assert.equal((await insightsOf(path, viewer)).status, 200)
      assert.equal((await insightsOf(path, outsider)).status, 404)
      assert.equal((await insightsOf(path, elsewhere)).status, 404)
      assert.equal((await insightsOf(path, limited)).status, 403)
      assert.equal((await request('GET', `${path}/insights`)).status, 401)
    }
    assert.equal((await insightsOf('/applications/999999999', viewer)).status, 404)
  })
})
