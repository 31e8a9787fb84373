// Nothing that a process caches makes a single action stale, or visible to the wrong caller.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { sql } from 'kysely'
import { loadFullActions } from '#model/actions/assemble.ts'
import { openTestApp } from '#test/support/harness.ts'
import { until, untilLockWait } from '#test/support/until.ts'
import {
  createAction,
  createHook,
  createHookRequest,
  createMember,
  createPerson,
  createTestTree,
  grantRole,
  makeLive,
} from '#test/support/world.ts'

const { db, request } = await openTestApp({ after })

const RUNNING = { status: 'in-progress', status_reason_code: 'IN_PROGRESS', completed_at: null } as const

test('a read shows every change at once, wherever in the response it is', async () => {
  const tree = await createTestTree(db)
  const id = await createAction(db, tree, RUNNING)
  const read = async () => (await request('GET', `/actions/${id}`, { token: tree.owner.token })).body
  const hook = await createHook(db, tree, 'outgoing')
  const changes: Record<string, () => Promise<unknown>> = {
    'the action itself': () =>
      db.updateTable('actions').set({ trigger_comment: 'changed' }).where('id', '=', id).execute(),
    'a target': () =>
      db
        .updateTable('targets')
        .set({ updated_at: '2026-01-01T00:00:00Z' })
        .where('action_id', '=', id)
        .execute(),
    'a newer deployment': () => createAction(db, tree, { ...RUNNING, credential_id: tree.credentialId }),
    'a target of the newest deployment': () =>
      db
        .updateTable('targets')
        .set({ updated_at: '2026-01-02T00:00:00Z' })
        .where('action_id', '>', id)
        .execute(),
    'the live deployment': () => makeLive(db, tree, id),
    'a child': () => createAction(db, tree, { ...RUNNING, parent_id: id, trigger_type: 'pipeline' }),
    "a child's status": () =>
      db
        .updateTable('actions')
        .set({ status: 'failed', status_reason_code: 'FAILED', completed_at: new Date() })
        .where('parent_id', '=', id)
        .execute(),
    'a delivery': () => createHookRequest(db, hook, 'outgoing', { action_id: id }),
    "a delivery's outcome": () =>
      db
        .updateTable('hook_requests')
        .set({ response_status_code: 599 })
        .where('action_id', '=', id)
        .execute(),
    'used credits': () =>
      db
        .insertInto('used_credits')
        .values({
          environment_id: tree.environmentId,
          month: `${new Date().toISOString().slice(0, 7)}-01`,
          target_runs: 3,
        })
        .execute(),
    'the name of a server': () =>
      db.updateTable('servers').set({ name: 'renamed' }).where('id', '=', tree.serverIds[0]!).execute(),
    'the name of the organization': () =>
      db
        .updateTable('organizations')
        .set({ name: 'Renamed' })
        .where('id', '=', tree.organizationId)
        .execute(),
  }
  let before = await read()
  assert.deepEqual(await read(), before)
  for (const [what, change] of Object.entries(changes)) {
    await change()
    const now = await read()
    assert.notDeepEqual(now, before, `${what} does not show`)
    before = now
  }
})

test('what one caller has read is not served to another who may see less', async () => {
  const tree = await createTestTree(db)
  const parent = await createAction(db, tree)
  const id = await createAction(db, tree, { parent_id: parent, trigger_type: 'pipeline' })
  const full = await request('GET', `/actions/${id}`, { token: tree.owner.token })
  assert.equal(full.body.parent.id, parent)
  const outsider = await createPerson(db)
  assert.equal((await request('GET', `/actions/${id}`, { token: outsider.token })).status, 404)
  const viewer = await createMember(db, tree, 'viewer')
  assert.equal((await request('GET', `/actions/${id}`, { token: viewer.token })).status, 200)
  await db.deleteFrom('grants').where('user_id', '=', viewer.id).execute()
  assert.equal((await request('GET', `/actions/${id}`, { token: viewer.token })).status, 404)
  await grantRole(db, viewer.id, 'viewer', tree)
  assert.equal((await request('GET', `/actions/${id}`, { token: viewer.token })).status, 200)
})

test('an action that ends while it is read is not shown with targets that still run', async () => {
  const tree = await createTestTree(db)
  const id = await createAction(db, tree, RUNNING, RUNNING)
  const end = { status: 'failed', status_reason_code: 'FAILED', completed_at: new Date() } as const
  const reading = await db.transaction().execute(async (trx) => {
    await sql`lock table actions in access exclusive mode`.execute(trx)
    await trx.updateTable('actions').set(end).where('id', '=', id).execute()
    await trx.updateTable('targets').set(end).where('action_id', '=', id).execute()
    const reads = loadFullActions(db, [id])
    await untilLockWait(db)
    await until('the targets have been read', 30_000, async () => {
      const { rows } = await sql`
        select from pg_stat_activity where datname = current_database() and state = 'active'
          and query like '%from "targets"%' and pid <> pg_backend_pid()`.execute(db)
      return rows.length === 0
    })
    return { reads }
  })
  const [action] = await reading.reads
  assert.equal(action!.row.status, 'failed')
  assert.deepEqual(new Set(action!.targets.map(({ status }) => status)), new Set(['failed']))
})
