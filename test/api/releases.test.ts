// What is live on the servers of an application, and which releases are on their disks.
import assert from 'node:assert/strict'
import { mkdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import { hideReleases, recordRelease, recordSizes, replaceReleases } from '#engine/runner/releases-on-disk.ts'
import { temporaryFolder } from '#model/deploy/fixtures.ts'
import { lockLive, storeUnknown } from '#model/live/live-record.ts'
import { openTestApp } from '#test/support/harness.ts'
import { recordLive } from '#test/support/live.ts'
import { makeRepository } from '#test/support/repository.ts'
import { commitOf } from '#test/support/runs.ts'
import { createAction, createPerson, createTestTree } from '#test/support/world.ts'

const home = await temporaryFolder({ after })
const api = await openTestApp({ after }, { environment: { GANTRY_HOME: home } })
const { db } = api

const name = (digit: string) => `2026010100000${digit}-${digit.repeat(8)}`

async function openTree() {
  const tree = await createTestTree(db)
  const { applicationId } = tree
  const [one, two] = tree.serverIds as [number, number]
  const ask = async (path: string, token = tree.owner.token) => {
    const { status, body, text } = await api.request('GET', `/applications/${applicationId}/${path}`, {
      token,
    })
    assert.equal(status, 200, text)
    return body
  }

  /** A deploy whose release is on the disks of the servers, and live on them. */
  async function deploy(digit: string, serverIds: number[], { hash = commitOf(digit).hash, more = {} } = {}) {
    const actionId = await createAction(
      db,
      { ...tree, serverIds },
      { release_name: name(digit), commit: JSON.stringify({ ...commitOf(digit), hash }), ...more },
      { release_name: name(digit) },
    )
    for (const serverId of serverIds) {
      const live = { applicationId, serverId, actionId, releaseName: name(digit), commitSha: hash }
      await recordRelease(db, live, name(digit))
      await db.transaction().execute((trx) => recordLive(trx, live))
    }
    return actionId
  }
  return { tree, applicationId, one, two, ask, deploy }
}

suite('what is live', () => {
  test('is said per linked server: action, release, commit and since when', async () => {
    const { tree, one, two, ask, deploy } = await openTree()
    const nothing = { state: 'nothing', action: null, release_name: null, commit: null, since: null }
    const unasked = { contains: null, contains_reason: null }
    const certain = { last_known: null, candidate: null, unknown_since: null, unknown_reason: null }
    assert.deepEqual(
      (await ask('live')).map(({ server, ...rest }: { server: object }) => rest),
      [1, 2].map(() => ({ ...nothing, ...certain, ...unasked })),
    )
    const first = await deploy('1', [one, two])
    const second = await deploy('2', [two])
    const [a, b] = await ask('live')
    assert.deepEqual([a.server.id, a.action.id, a.release_name], [one, first, name('1')])
    assert.deepEqual(a.commit, { hash: '1'.repeat(40), message: '1', url: null })
    assert.ok(Math.abs(Date.now() - Date.parse(a.since)) < 60_000)
    assert.deepEqual([b.server.id, b.action.id, b.release_name], [two, second, name('2')])
    const { body } = await api.request('GET', `/applications/${tree.applicationId}`, {
      token: tree.owner.token,
    })
    assert.equal(body.last_deployments.live.id, second)
    // The second server goes back: the newest action that is live anywhere is the first again.
    const live = { applicationId: tree.applicationId, serverId: two, commitSha: null }
    await db
      .transaction()
      .execute((trx) => recordLive(trx, { ...live, actionId: first, releaseName: name('1') }))
    const again = await api.request('GET', `/applications/${tree.applicationId}`, { token: tree.owner.token })
    assert.equal(again.body.last_deployments.live.id, first)
  })

  test('is unknown after an interrupted switch: what was live last, and what may be live instead', async () => {
    const { tree, applicationId, one, two, ask, deploy } = await openTree()
    const first = await deploy('1', [one, two])
    const second = await createAction(
      db,
      { ...tree, serverIds: [one] },
      { release_name: name('2'), commit: JSON.stringify(commitOf('2')) },
      { release_name: name('2') },
    )
    const disk = { applicationId, serverId: one }
    const candidate = { actionId: second, releaseName: name('2'), commitSha: commitOf('2').hash }
    const reason = 'The run ended during the switch.'
    await db.transaction().execute(async (trx) => {
      await lockLive(trx, applicationId)
      await storeUnknown(trx, disk, { reason, targetId: null, candidate })
    })
    const [a, b] = await ask(`live?contains=${'1'.repeat(40)}`)
    assert.deepEqual([a.state, a.action, a.release_name, a.commit], ['unknown', null, null, null])
    assert.deepEqual([a.last_known.action.id, a.last_known.release_name], [first, name('1')])
    assert.deepEqual([a.candidate.action.id, a.candidate.release_name], [second, name('2')])
    assert.equal(a.candidate.commit.hash, '2'.repeat(40))
    assert.ok(Math.abs(Date.now() - Date.parse(a.unknown_since)) < 60_000)
    assert.ok(Math.abs(Date.now() - Date.parse(a.last_known.since)) < 60_000)
    assert.deepEqual([a.unknown_reason, a.contains_reason], [reason, 'live_unknown'])
    assert.deepEqual([b.state, b.release_name, b.last_known], ['known', name('1'), null])
    const live = async () => {
      const { body } = await api.request('GET', `/applications/${applicationId}`, { token: tree.owner.token })
      return body.last_deployments.live?.id ?? null
    }
    assert.equal(await live(), first)
    await db.transaction().execute(async (trx) => {
      await lockLive(trx, applicationId)
      await storeUnknown(trx, { applicationId, serverId: two }, { reason, targetId: null, candidate: null })
    })
    assert.equal(await live(), null)
    await db.transaction().execute((trx) => recordLive(trx, { ...disk, ...candidate }))
    assert.equal(await live(), second)
    assert.deepEqual(
      (await ask('live')).map(({ state }: { state: string }) => state),
      ['known', 'unknown'],
    )
  })

  test('hides servers and actions from callers who may not view them', async () => {
    const { tree, one, ask, deploy } = await openTree()
    await deploy('1', [one])
    const member = await createPerson(db)
    const { organizationId: organization_id } = tree
    const { id: role_id } = await db
      .insertInto('roles')
      .values({ organization_id, name: 'Looker', permissions: ['application:view'] })
      .returning('id')
      .executeTakeFirstOrThrow()
    await db.insertInto('grants').values({ user_id: member.id, role_id, organization_id }).execute()
    const [live] = await ask('live', member.token)
    assert.deepEqual([live.server, live.action, live.release_name], [null, null, name('1')])
    assert.deepEqual(live.commit, { hash: '1'.repeat(40), message: null, url: null })
    const [{ server, releases }] = await ask('releases', member.token)
    assert.deepEqual([server, releases[0].action, releases[0].release_name], [null, null, name('1')])
    // It may name the address of the server.
    await db.transaction().execute(async (trx) => {
      await lockLive(trx, tree.applicationId)
      const reason = 'The server could not be reached: 192.0.2.1:22 refused the connection.'
      const disk = { applicationId: tree.applicationId, serverId: one }
      await storeUnknown(trx, disk, { reason, targetId: null, candidate: null })
    })
    const [unknown] = await ask('live', member.token)
    assert.deepEqual([unknown.state, unknown.unknown_reason], ['unknown', null])
    const stranger = await createTestTree(db)
    for (const path of ['live', 'releases']) {
      const { status } = await api.request('GET', `/applications/${tree.applicationId}/${path}`, {
        token: stranger.owner.token,
      })
      assert.equal(status, 404)
    }
  })

  test('knows which servers contain a commit, and says why when it does not', async (t) => {
    const { tree, one, two, ask, deploy } = await openTree()
    const repository = await makeRepository(t, { files: { n: '0' } })
    const base = await repository.commit({ n: '1' })
    const older = await repository.commit({ n: '2' })
    const newer = await repository.commit({ n: '3' })
    const other = await repository.commit({ n: 'other' }, { branch: 'other' })
    await deploy('1', [one], { hash: older })
    await deploy('2', [two], { hash: newer })
    const contains = async (digits: string) =>
      (await ask(`live?contains=${digits}`)).map(
        (one: { contains: boolean | null; contains_reason: string | null }) =>
          one.contains === null ? one.contains_reason : one.contains,
      )
    assert.deepEqual(await contains(older), [true, 'no_mirror'])
    const folder = join(home, 'repositories', 'mirrors', String(tree.applicationId))
    await mkdir(folder, { recursive: true })
    await symlink(repository.folder, join(folder, 'mirror.git'))
    assert.deepEqual(await contains(base), [true, true])
    assert.deepEqual(await contains(newer.slice(0, 7).toUpperCase()), [false, true])
    assert.deepEqual(await contains(older.slice(0, 12)), [true, true])
    assert.deepEqual(await contains(other), [false, false])
    for (const length of [40, 64])
      assert.deepEqual(await contains('f'.repeat(length)), ['unknown_commit', 'unknown_commit'])
    await sql`update live_releases set commit_sha = ${'e'.repeat(40)} where server_id = ${one}`.execute(db)
    assert.deepEqual(await contains(base), ['unknown_live_commit', true])
    await sql`delete from live_releases where server_id = ${one}`.execute(db)
    assert.deepEqual(await contains(base), ['nothing_live', true])
    for (const wrong of ['abc', 'g'.repeat(8), 'a'.repeat(65), '', '--upload-pack=x', 'main']) {
      const { status } = await api.request(
        'GET',
        `/applications/${tree.applicationId}/live?contains=${wrong}`,
        {
          token: tree.owner.token,
        },
      )
      assert.equal(status, 422, wrong)
    }
  })
})

suite('releases', () => {
  test('are those that the last list of each server showed, newest first, with size and commit', async () => {
    const { applicationId, one, two, ask, deploy } = await openTree()
    const ids = [await deploy('1', [one]), await deploy('2', [one]), await deploy('3', [one, two])]
    const disk = { applicationId, serverId: one }
    const found = ['1', '2', '3'].map((digit) => ({ name: name(digit), wasLive: true }))
    // A deploy that failed before its activation; and one that is being copied, which no list has shown yet.
    await replaceReleases(db, disk, [...found, { name: name('4'), wasLive: false }])
    await recordRelease(db, disk, name('5'))
    await hideReleases(db, disk, [name('1')])
    await recordSizes(db, disk, new Map([[name('3'), 4_096]]))
    const [first, second] = await ask('releases')
    assert.equal(first.server.id, one)
    const shown = first.releases.map((one: Record<string, unknown>) => [
      ...[one.release_name, one.live, one.was_live, one.can_roll_back, one.size_bytes],
      (one.action as { id: number } | null)?.id,
      (one.commit as { hash: string } | null)?.hash,
    ])
    assert.deepEqual(shown, [
      [name('4'), false, false, false, null, undefined, undefined],
      [name('3'), true, true, false, 4_096, ids[2], '3'.repeat(40)],
      [name('2'), false, true, true, null, ids[1], '2'.repeat(40)],
    ])
    assert.deepEqual([second.server.id, second.releases.length], [two, 1])
  })

  test('that are there can be rolled back to, also one whose run failed later, by the name on any server', async () => {
    const { tree, applicationId, one, two, deploy } = await openTree()
    const failed = { status: 'failed', status_reason_code: 'FAILED' }
    await deploy('1', [one], { more: failed })
    await deploy('2', [one, two])
    const rollBack = (release_name: string) =>
      api.request('POST', `/pipelines/${tree.pipelineId}/actions`, {
        token: tree.owner.token,
        body: { type: 'rollback', release_name },
      })
    const back = await rollBack(name('1'))
    assert.equal(back.status, 201, back.text)
    assert.equal(back.body.action_data.release_name, name('1'))
    await hideReleases(db, { applicationId, serverId: one }, [name('1')])
    assert.equal((await rollBack(name('1'))).status, 422)
  })

  test('that a server took back are none to roll back to, under any name and when they are no longer on disks', async () => {
    const { tree, applicationId, one, two, ask, deploy } = await openTree()
    await deploy('1', [one])
    await deploy('2', [one])
    // A rollback to the second one that went back, on a server that knows it by another name.
    const failed = { status: 'failed', status_reason_code: 'FAILED_REVERTED' } as const
    const rollback = { ...failed, release_name: name('2') }
    await createAction(db, { ...tree, serverIds: [two] }, rollback, { ...failed, release_name: name('9') })
    await recordRelease(db, { applicationId, serverId: two }, name('9'))
    await deploy('3', [one, two])
    const [{ releases }] = await ask('releases')
    assert.deepEqual(
      releases.map((one: Record<string, unknown>) => [one.release_name, one.can_roll_back]),
      [
        [name('3'), false],
        [name('2'), false],
        [name('1'), true],
      ],
    )
    const rollBack = (more: object) =>
      api.request('POST', `/pipelines/${tree.pipelineId}/actions`, {
        token: tree.owner.token,
        body: { type: 'rollback', ...more },
      })
    for (const digit of ['2', '9'])
      assert.equal((await rollBack({ release_name: name(digit) })).status, 422, digit)
    const back = await rollBack({})
    assert.equal(back.body.action_data?.release_name, name('1'), back.text)
  })
})
