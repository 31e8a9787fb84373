import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { sql } from 'kysely'
import { createTestDatabase } from '#test/support/database.ts'
import { createAction, createTestTree, type TestTree } from '#test/support/world.ts'
import { type Database, openDatabase } from './connect.ts'
import { migrate } from './migrate.ts'
import type { LiveBefore } from './tables.ts'

const BEFORE = '0044-device-codes'

async function openBefore(t: TestContext) {
  const { settings, drop } = await createTestDatabase({ empty: true })
  t.after(drop)
  const { db, close } = openDatabase(settings, { onIdleError: () => {} })
  t.after(close)
  await migrate(db, { to: BEFORE })
  return { db, tree: await createTestTree(db) }
}

type Target = {
  activated: string | null
  reverted?: string
  before?: Pick<LiveBefore, 'commit_sha'>
  /** Of the activation, when it did not complete. */
  status?: string
}
type Deploy = { commit: string; committed?: string; type?: string; reason?: string; ended?: string | null }

/** A deploy as the code before stored it, with one entry per server. */
async function store(db: Database, tree: TestTree, deploy: Deploy, targets: Target[]): Promise<number> {
  const { commit, committed = '2026-01-01T00:00:00.000Z', type = 'deploy', reason = 'COMPLETED' } = deploy
  const ended = deploy.ended === undefined ? '2026-02-01T00:00:00.000Z' : deploy.ended
  const status = ended === null ? 'in-progress' : reason === 'COMPLETED' ? 'completed' : 'failed'
  const id = await createAction(
    db,
    { ...tree, serverIds: tree.serverIds.slice(0, targets.length) },
    {
      status,
      status_reason_code: (ended === null ? 'IN_PROGRESS' : reason) as 'COMPLETED',
      completed_at: ended,
      created_at: '2026-01-05T00:00:00.000Z',
      commit: JSON.stringify({ hash: commit, committed_at: committed }),
      deployment: JSON.stringify({ type }),
    },
  )
  for (const [
    index,
    { activated, reverted, before, status: activation = 'completed' },
  ] of targets.entries()) {
    const steps = [
      { order: 1, name: 'get-new-release', status: 'completed', completed_at: '2026-01-01T00:00:00.000Z' },
      { order: 2, name: 'activate-new-release', status: activation, completed_at: activated },
      ...(reverted
        ? [{ order: 3, name: 'revert-release', status: 'completed', completed_at: reverted }]
        : []),
    ]
    if (activated === null) steps[1]!.status = 'failed'
    await db
      .updateTable('targets')
      .set({
        steps: JSON.stringify(steps),
        live_before: before ? JSON.stringify({ release: 'r', action_id: null, ...before }) : null,
      })
      .where('action_id', '=', id)
      .where('position', '=', index + 1)
      .execute()
  }
  return id
}

const at = (minute: number) => new Date(Date.UTC(2026, 0, 10, 0, minute)).toISOString()

test('deployments of an older database are derived from its runs', async (t) => {
  const { db, tree } = await openBefore(t)
  const [one, two] = tree.serverIds as [number, number]
  const first = await store(db, tree, { commit: 'a' }, [{ activated: at(1) }, { activated: at(2) }])
  // Before reverts existed, nothing says what was live before.
  const again = await store(db, tree, { commit: 'a' }, [{ activated: at(3) }, { activated: at(4) }])
  const half = await store(db, tree, { commit: 'b', reason: 'FAILED' }, [
    { activated: at(5) },
    { activated: null },
  ])
  const reverted = await store(
    db,
    tree,
    { commit: 'c', reason: 'FAILED_REVERTED', committed: '+012345-01-01T00:00:00.000Z' },
    [
      { activated: at(6), reverted: at(8), before: { commit_sha: 'b' } },
      { activated: at(7), reverted: at(9), before: { commit_sha: 'a' } },
    ],
  )
  const back = await store(db, tree, { commit: 'a', type: 'rollback' }, [
    { activated: at(10), before: { commit_sha: 'b' } },
  ])
  // It timed out, and had switched.
  const late = await store(db, tree, { commit: 'd', reason: 'FAILED_TIMEOUT', committed: 'long ago' }, [
    { activated: at(11), status: 'failed', before: { commit_sha: 'a' } },
  ])
  const running = await store(db, tree, { commit: 'e', ended: null }, [
    { activated: at(12), before: { commit_sha: 'd' } },
  ])
  await store(db, tree, { commit: 'f', reason: 'FAILED' }, [{ activated: null }, { activated: null }])
  await migrate(db)

  const rows = await db.selectFrom('deployments').selectAll().orderBy('action_id').execute()
  const common = { application_id: tree.applicationId, environment_id: tree.environmentId }
  const both = [one, two]
  const none = { reverted_server_ids: [], reverted_at: null }
  const ended = { ended_at: '2026-02-01T00:00:00.000Z' }
  const switched = (first: number, last = first) => ({
    first_activated_at: at(first),
    last_activated_at: at(last),
  })
  const committed_at = '2026-01-01T00:00:00.000Z'
  const deploy = { ...common, is_rollback: false, has_new_commit: true, committed_at, ...none, ...ended }
  assert.deepEqual(
    new Set(rows.map((row) => JSON.stringify(sorted(row)))),
    new Set(
      [
        {
          ...deploy,
          action_id: first,
          commit_sha: 'a',
          server_ids: both,
          ...switched(1, 2),
          result: 'COMPLETED',
        },
        {
          ...deploy,
          ...{ action_id: again, commit_sha: 'a', has_new_commit: false, server_ids: both },
          ...{ ...switched(3, 4), result: 'COMPLETED' },
        },
        { ...deploy, action_id: half, commit_sha: 'b', server_ids: [one], ...switched(5), result: 'FAILED' },
        {
          ...deploy,
          ...{
            action_id: reverted,
            commit_sha: 'c',
            committed_at: null,
            server_ids: both,
            ...switched(6, 7),
          },
          ...{ reverted_server_ids: both, reverted_at: at(9), result: 'FAILED_REVERTED' },
        },
        {
          ...deploy,
          ...{ action_id: back, is_rollback: true, commit_sha: 'a', server_ids: [one], ...switched(10) },
          result: 'COMPLETED',
        },
        {
          ...deploy,
          ...{ action_id: late, commit_sha: 'd', committed_at: null, server_ids: [one], ...switched(11) },
          result: 'FAILED_TIMEOUT',
        },
        {
          ...deploy,
          ...{ action_id: running, commit_sha: 'e', server_ids: [one], ...switched(12) },
          ...{ result: null, ended_at: null },
        },
      ].map((row) => JSON.stringify(sorted(row))),
    ),
  )
  const { deployments_since } = await db
    .selectFrom('applications')
    .select('deployments_since')
    .where('id', '=', tree.applicationId)
    .executeTakeFirstOrThrow()
  const application = await sql<{ created_at: string }>`select created_at from applications`.execute(db)
  // The oldest run is dated before the application: this test made both.
  assert.equal(deployments_since, application.rows[0]!.created_at)
})

const sorted = (row: object) => Object.fromEntries(Object.entries(row).sort(([a], [b]) => (a < b ? -1 : 1)))

test('history begins with the oldest stored run, and now without any', async (t) => {
  const { db, tree } = await openBefore(t)
  const idle = await createTestTree(db)
  await sql`update applications set created_at = '2025-01-01'`.execute(db)
  await store(db, tree, { commit: 'a' }, [{ activated: at(1) }])
  const began = Date.now()
  await migrate(db)
  const newer = await createTestTree(db)
  const since = async (id: number) => {
    const row = await db
      .selectFrom('applications')
      .select('deployments_since')
      .where('id', '=', id)
      .executeTakeFirst()
    return row!.deployments_since
  }
  assert.equal(await since(tree.applicationId), '2026-01-05T00:00:00.000Z')
  assert.ok(Date.parse((await since(idle.applicationId))!) >= began - 5_000)
  assert.equal(await since(newer.applicationId), null)
})
