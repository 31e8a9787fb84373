import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { sql } from 'kysely'
import { lockLive, storeUnknown } from '#model/live/live-record.ts'
import { createTestDatabase } from '#test/support/database.ts'
import { recordLive } from '#test/support/live.ts'
import { createAction, createTestTree } from '#test/support/world.ts'
import { type Database, openDatabase } from './connect.ts'
import { migrate } from './migrate.ts'

const BEFORE = '0029-due-deliveries'
const HASH = 'a'.repeat(40)

async function openBefore(t: TestContext) {
  const { settings, drop } = await createTestDatabase({ empty: true })
  t.after(drop)
  const { db, close } = openDatabase(settings, { onIdleError: () => {} })
  t.after(close)
  await migrate(db, { to: BEFORE })
  const tree = await createTestTree(db)
  const [one, two] = tree.serverIds as [number, number]
  const { rows } = await sql<{ id: number }>`
    insert into servers (environment_id, name, provider_code, root_directory, created_by)
    select environment_id, 'three', 'local', '/srv', created_by from servers where id = ${one} returning id`.execute(
    db,
  )
  const three = rows[0]!.id
  let clock = Date.parse('2026-01-01T00:00:00Z')

  /** A deploy as older code stored it: the server switched at `at`. */
  async function deploy(serverIds: number[], releaseName: string, more: object = {}, isActivated = true) {
    const id = await createAction(
      db,
      { ...tree, serverIds },
      { release_name: releaseName, commit: JSON.stringify({ hash: HASH }), ...more },
      'deployment' in more ? {} : { release_name: releaseName },
    )
    clock += 60_000
    const at = new Date(clock).toISOString()
    await sql`update targets set steps = (
      select jsonb_agg(case when step ->> 'name' = 'activate-new-release'
        then step || ${JSON.stringify({ status: isActivated ? 'completed' : 'failed', completed_at: at })}::jsonb
        else step end) from jsonb_array_elements(steps) as step) where action_id = ${id}`.execute(db)
    const names = sql`select ${tree.applicationId}::bigint, ${releaseName}::text, s from unnest(${serverIds}::bigint[]) as s`
    await sql`insert into releases_on_disk (application_id, release_name, server_id) ${names} on conflict do nothing`.execute(
      db,
    )
    return { id, at, mark: () => markLive(db, tree.applicationId, id) }
  }
  return { db, tree, one, two, three, deploy }
}

/** What older code does in the transaction of the step. */
const markLive = (db: Database, applicationId: number, id: number) =>
  sql`update applications set live_action_id = ${id} where id = ${applicationId}`.execute(db)

async function liveOf(db: Database) {
  const rows = await db.selectFrom('live_releases').selectAll().orderBy('server_id').execute()
  return rows.map(({ server_id, action_id, release_name, commit_sha, since }) => ({
    server_id,
    action_id,
    release_name,
    commit_sha,
    since,
  }))
}

describe('what is live per server', () => {
  test('is found in an older database: the last switch of each server, with the release that it switched to', async (t) => {
    const { db, tree, one, two, three, deploy } = await openBefore(t)
    const first = await deploy([one, two, three], '20260101000001-aaaaaaa')
    const second = await deploy([one, two], '20260101000002-aaaaaaa')
    const rollback = JSON.stringify({ type: 'rollback' })
    const third = await deploy([one], '20260101000001-aaaaaaa', {
      deployment: rollback,
      status: 'failed',
      status_reason_code: 'FAILED',
    })
    await deploy([one, two], '20260101000003-aaaaaaa', {}, false)
    await sql`update servers set deleted_at = now() where id = ${three}`.execute(db)
    await markLive(db, tree.applicationId, third.id)
    await migrate(db)
    assert.deepEqual(await liveOf(db), [
      {
        server_id: one,
        action_id: third.id,
        release_name: '20260101000001-aaaaaaa',
        commit_sha: HASH,
        since: third.at,
      },
      {
        server_id: two,
        action_id: second.id,
        release_name: '20260101000002-aaaaaaa',
        commit_sha: HASH,
        since: second.at,
      },
    ])
    const disk = await db
      .selectFrom('releases_on_disk')
      .selectAll()
      .where('server_id', '=', one)
      .orderBy('release_name')
      .execute()
    assert.deepEqual(
      disk.map(({ on_disk, was_live, size_bytes }) => [on_disk, was_live, size_bytes]),
      [
        [true, true, null],
        [true, true, null],
        [false, false, null],
      ],
    )
    assert.ok(first.id < second.id)
  })

  test('stays true while older code runs beside: its switches count, older and repeated ones do not', async (t) => {
    const { db, tree, one, two, deploy } = await openBefore(t)
    await migrate(db)
    const first = await deploy([one, two], '20260101000001-aaaaaaa')
    await first.mark()
    const second = await deploy([one], '20260101000002-aaaaaaa')
    await second.mark()
    // The first again: of a server that switched late, or of a repeated transaction.
    await first.mark()
    assert.deepEqual(
      (await liveOf(db)).map(({ action_id }) => action_id),
      [second.id, first.id],
    )
    const live = { applicationId: tree.applicationId, serverId: one, commitSha: null }
    const reverted = { ...live, actionId: first.id, releaseName: '20260101000001-aaaaaaa' }
    await db.transaction().execute((trx) => recordLive(trx, reverted))
    const application = await db.selectFrom('applications').select('live_action_id').executeTakeFirstOrThrow()
    assert.equal(application.live_action_id, first.id)
    assert.deepEqual(
      (await liveOf(db)).map(({ action_id }) => action_id),
      [first.id, first.id],
    )
  })

  test('stays known in a database of the code before, and marks on servers keep naming this installation', async (t) => {
    const { db, one, two, deploy } = await openBefore(t)
    await migrate(db, { to: '0038-short-columns' })
    await sql`insert into key_check (sealed) values ('sealed')`.execute(db)
    const first = await deploy([one, two], '20260101000001-aaaaaaa')
    await first.mark()
    const before = await liveOf(db)
    const installation = sql<{
      name: string
    }>`select left(encode(sha256(sealed), 'hex'), 12) as name from key_check`
    const [then] = (await installation.execute(db)).rows
    await migrate(db)
    assert.deepEqual(await liveOf(db), before)
    assert.equal(before.length, 2)
    assert.deepEqual(await db.selectFrom('unknown_live_releases').selectAll().execute(), [])
    // A key rotation seals it anew.
    await sql`update key_check set sealed = 'sealed with another key'`.execute(db)
    const { installation: now } = await db.selectFrom('key_check').selectAll().executeTakeFirstOrThrow()
    assert.equal(now, then!.name)
  })

  test('that a row was removed is not undone by a later switch of the same action elsewhere', async (t) => {
    const { db, tree, one, two, deploy } = await openBefore(t)
    await migrate(db)
    const first = await deploy([one, two], '20260101000001-aaaaaaa')
    await first.mark()
    const second = await deploy([one, two], '20260101000002-aaaaaaa')
    const { applicationId } = tree
    const reason = 'The run ended during the switch.'
    await db.transaction().execute(async (trx) => {
      await lockLive(trx, applicationId)
      await storeUnknown(trx, { applicationId, serverId: two }, { reason, targetId: null, candidate: null })
    })
    const live = { applicationId, serverId: one, commitSha: null }
    const switchTo = (actionId: number, releaseName: string) =>
      db.transaction().execute((trx) => recordLive(trx, { ...live, actionId, releaseName }))
    await switchTo(second.id, '20260101000002-aaaaaaa')
    await switchTo(first.id, '20260101000001-aaaaaaa')
    assert.deepEqual(
      (await liveOf(db)).map(({ server_id }) => server_id),
      [one],
    )
  })

  test('is forgotten with the server or the application, whatever code removes it', async (t) => {
    const { db, one, two, deploy } = await openBefore(t)
    await migrate(db)
    const first = await deploy([one, two], '20260101000001-aaaaaaa')
    await first.mark()
    await sql`update servers set deleted_at = now() where id = ${one}`.execute(db)
    // Older code stores it again, for the other server.
    await first.mark()
    assert.deepEqual(
      (await liveOf(db)).map(({ server_id }) => server_id),
      [two],
    )
    await sql`update applications set deleted_at = now()`.execute(db)
    assert.deepEqual(await liveOf(db), [])
  })
})
