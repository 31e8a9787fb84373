// Rollbacks start from what is live on the servers of the run.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import { recordRelease } from '#engine/runner/releases-on-disk.ts'
import { storeUnknown } from '#model/live/live-record.ts'
import { recordLive } from '#test/support/live.ts'
import { commitOf, openRuns, refused, started } from '#test/support/runs.ts'
import { createAction, createPerson, createTestTree, type TestTree } from '#test/support/world.ts'

const runs = await openRuns({ after })
const { api, db, ask, run, cancel, countActions, addDeployPipeline } = runs

const name = (digit: string) => `2026010100000${digit}-${digit.repeat(8)}`
const REVERTED = { status: 'failed', status_reason_code: 'FAILED_REVERTED' } as const

async function openTree() {
  const at = await createTestTree(db)
  const { applicationId, pipelineId } = at
  const [one, two] = at.serverIds as [number, number]

  /** A run that made the release with this digit, or rolled back to it, and is live on these servers. */
  async function deploy(
    digit: string,
    serverIds: number[],
    { more = {}, isRollback = false, pipeline = pipelineId } = {},
  ) {
    const type = isRollback ? 'rollback' : 'deploy'
    const source = { source_type: 'branch', source_ref: 'main', repository: 'x', provider_name: null }
    const actionId = await createAction(
      db,
      { ...at, serverIds, pipelineId: pipeline },
      {
        release_name: name(digit),
        commit: JSON.stringify(commitOf(digit)),
        deployment: JSON.stringify({ type, ...source }),
        ...more,
      },
      { ...more, release_name: isRollback ? null : name(digit) },
    )
    for (const serverId of serverIds) await makeLive(actionId, digit, serverId)
    return actionId
  }
  async function makeLive(actionId: number, digit: string, serverId: number, alias = ''): Promise<void> {
    const live = { applicationId, serverId, actionId, releaseName: alias || name(digit) }
    await recordRelease(db, live, live.releaseName)
    await db.transaction().execute((trx) => recordLive(trx, { ...live, commitSha: commitOf(digit).hash }))
  }
  const input = (more: object) => ({ type: 'rollback', ...more })
  return {
    at,
    one,
    two,
    deploy,
    makeLive,
    back: (more: object = {}, by: object = {}) => run(input(more), { at, ...by }),
    plan: (more: object = {}, by: object = {}) =>
      ask(`/pipelines/${pipelineId}/plan`, input(more), { at, ...by }),
  }
}

/** What a rollback that may start returns to; nothing of it stays. */
async function destination(answer: ReturnType<typeof run>, at: TestTree): Promise<string> {
  const { id, action_data } = await started(answer)
  await cancel(id, { at })
  return action_data.release_name
}

suite('a rollback', () => {
  test('of a run that was reverted changes nothing, and says what is live', async () => {
    const { at, one, two, deploy, makeLive, back, plan } = await openTree()
    await deploy('1', [one, two])
    const healthy = await deploy('2', [one, two])
    const bad = await deploy('3', [one, two], { more: REVERTED })
    for (const server of [one, two]) await makeLive(healthy, '2', server)
    const before = await countActions(at)
    const message = `Nothing to roll back: run #${bad} is not live. Live now: ${name('2')} (commit 22222222, run #${healthy}).`
    for (const more of [{}, { release_name: name('1') }])
      for (const answer of [back({ rollback_from: bad, ...more }), plan({ rollback_from: bad, ...more })])
        assert.equal((await refused(answer, 409, 'nothing_to_roll_back')).message, message)
    assert.equal(await countActions(at), before)
    assert.equal(await destination(back({ rollback_from: healthy }), at), name('1'))
  })

  test('goes to releases that are older and older, never forward to the one that was rolled back', async () => {
    const { at, one, two, deploy, back } = await openTree()
    for (const digit of ['1', '2', '3']) await deploy(digit, [one, two])
    assert.equal(await destination(back(), at), name('2'))
    const first = await deploy('2', [one, two], { isRollback: true })
    assert.equal(await destination(back({ rollback_from: first }), at), name('1'))
    await deploy('1', [one, two], { isRollback: true })
    const { message } = await refused(back(), 409, 'conflict')
    assert.match(message, /no release before the live one/)
    // Forward again, by name.
    assert.equal(await destination(back({ release_name: name('3') }), at), name('3'))
  })

  test('skips releases whose run failed or was reverted, whichever pipeline made them', async () => {
    const { at, one, two, deploy, back } = await openTree()
    const other = await addDeployPipeline(at, 'Deploy by hand')
    await deploy('1', [one])
    await deploy('2', [one], { pipeline: other })
    await deploy('3', [one], { more: REVERTED })
    await deploy('4', [one], { more: { status: 'failed', status_reason_code: 'FAILED' } })
    // Completed, but a later rollback to it was reverted.
    await deploy('5', [one])
    await deploy('5', [one], { more: REVERTED, isRollback: true })
    await deploy('6', [one, two])
    assert.equal(await destination(back(), at), name('2'))
  })

  test('takes the newest release by its name, not by its run: two pipelines may have run at the same time', async () => {
    const { at, one, two, deploy, back } = await openTree()
    await deploy('2', [one])
    await deploy('1', [one])
    await deploy('3', [one, two])
    assert.equal(await destination(back(), at), name('2'))
  })

  test('looks at the servers of the run, and at no others', async () => {
    const { at, one, two, deploy, back } = await openTree()
    for (const digit of ['1', '2']) await deploy(digit, [one, two])
    const third = await deploy('3', [one])
    assert.equal(await destination(back({ servers: [two] }), at), name('1'))
    assert.equal(await destination(back({ servers: [one], rollback_from: third }), at), name('2'))
    const other = await refused(back({ servers: [two], rollback_from: third }), 409, 'nothing_to_roll_back')
    assert.match(other.message, new RegExp(`Live now: ${name('2')} `))
  })

  test('of servers with different live releases needs the name of the release, which may be live on some', async () => {
    const { at, one, two, deploy, back, plan } = await openTree()
    for (const digit of ['1', '2']) await deploy(digit, [one, two])
    const third = await deploy('3', [one])
    for (const more of [{}, { rollback_from: third }]) {
      const { message } = await refused(back(more), 409, 'live_releases_differ')
      assert.match(message, new RegExp(`: ${name('3')} on web-1; ${name('2')} on web-2\\. Name the release`))
    }
    for (const digit of ['1', '2', '3'])
      assert.equal(await destination(back({ release_name: name(digit) }), at), name(digit))
    const { body } = await plan({ release_name: name('1') })
    assert.deepEqual([body.rollback.from, body.rollback.to.release_name], [null, name('1')])
  })

  test('of servers of which it is not known what they serve needs the name of the release', async () => {
    const { at, one, two, deploy, back, plan } = await openTree()
    await deploy('1', [one, two])
    const second = await deploy('2', [one, two])
    const unknown = { reason: 'lost', targetId: null, candidate: null }
    const disk = { applicationId: at.applicationId, serverId: two }
    await db.transaction().execute((trx) => storeUnknown(trx, disk, unknown))
    for (const more of [{}, { rollback_from: second }]) {
      const { message } = await refused(back(more), 409, 'live_unknown')
      assert.match(message, /^The live release on web-2 is unknown, /)
    }
    for (const digit of ['1', '2'])
      assert.equal(await destination(back({ release_name: name(digit) }), at), name(digit))
    assert.equal((await plan({ release_name: name('1') })).body.rollback.from, null)
    assert.equal(await destination(back({ servers: [one] }), at), name('1'))
  })

  test('counts a release as one, whatever servers call it, and one where nothing is live as none', async () => {
    const { at, one, two, deploy, makeLive, back, plan } = await openTree()
    await deploy('1', [one])
    const second = await deploy('2', [one])
    assert.equal(await destination(back({ rollback_from: second }), at), name('1'))
    // Its first attempt was lost on the other server, so it has another name there.
    await makeLive(second, '2', two, name('7'))
    assert.equal(await destination(back(), at), name('1'))
    assert.equal((await plan()).body.rollback.from.release_name, name('2'))
    const { errors } = await refused(back({ release_name: name('2') }), 422, 'invalid')
    assert.deepEqual(errors.release_name, ['is the live release; name an earlier one'])
  })

  test('names a run of this application that the caller may view, and only a rollback does', async () => {
    const { at, one, two, deploy, back } = await openTree()
    const own = await deploy('1', [one, two])
    const foreign = await createAction(db, await createTestTree(db))
    const otherKind = await createAction(db, { ...at, pipelineId: at.serverPipelineId }, { type: 'restart' })
    for (const id of [foreign, otherKind, 999_999_999]) {
      const { errors } = await refused(back({ rollback_from: id }), 404, 'not_found')
      assert.deepEqual(errors, { rollback_from: [`${id} is not a run of this application`] })
    }
    for (const type of ['deploy', 'redeploy']) {
      const { errors } = await refused(run({ type, rollback_from: own }, { at }), 422, 'invalid')
      assert.deepEqual(errors, { rollback_from: ['is only for rollbacks'] })
    }
    const url = `/pipelines/${at.serverPipelineId}/actions`
    const { errors } = await refused(ask(url, { rollback_from: own }, { at }), 422, 'invalid')
    assert.deepEqual(errors, { rollback_from: ['is only for deploy pipelines'] })
    for (const wrong of [0, -1, 1.5, '7', null, 2 ** 53])
      assert.equal((await back({ rollback_from: wrong })).status, 422, String(wrong))
  })

  test('shows callers who may not view actions the releases, but no run', async () => {
    const { at, one, two, deploy, back, plan } = await openTree()
    await deploy('1', [one, two])
    const second = await deploy('2', [one, two])
    const { token } = await runner(at, ['pipeline:view', 'pipeline:run'])
    const { rollback } = (await plan({}, { token })).body
    const hidden = { commit_message: null, action_id: null }
    assert.deepEqual(rollback, {
      from: { release_name: name('2'), commit_hash: commitOf('2').hash, ...hidden },
      to: { release_name: name('1'), commit_hash: commitOf('1').hash, ...hidden },
    })
    for (const ask of [plan, back]) {
      const { message } = await refused(ask({ rollback_from: second }, { token }), 404, 'not_found')
      assert.doesNotMatch(message, /Live now/)
    }
    await deploy('3', [two])
    const { message } = await refused(plan({}, { token }), 409, 'live_releases_differ')
    assert.doesNotMatch(message, /#/)
  })
})

async function runner({ organizationId: organization_id }: TestTree, permissions: string[]) {
  const person = await createPerson(db)
  const { id: role_id } = await db
    .insertInto('roles')
    .values({ organization_id, name: 'Runner', permissions })
    .returning('id')
    .executeTakeFirstOrThrow()
  await db.insertInto('grants').values({ user_id: person.id, role_id, organization_id }).execute()
  return person
}

test('the plan of a rollback says from which release to which, those of other runs say nothing', async () => {
  const { at, one, two, deploy, plan } = await openTree()
  const first = await deploy('1', [one, two])
  const second = await deploy('2', [one, two])
  const about = (digit: string, action_id: number) => ({
    release_name: name(digit),
    commit_hash: commitOf(digit).hash,
    commit_message: commitOf(digit).message,
    action_id,
  })
  for (const more of [{}, { rollback_from: second }, { release_name: name('1') }])
    assert.deepEqual((await plan(more)).body.rollback, { from: about('2', second), to: about('1', first) })
  // Made by the first run, live through this one.
  const back = await deploy('1', [one, two], { isRollback: true })
  const forth = await plan({ release_name: name('2') })
  assert.deepEqual(forth.body.rollback, { from: about('1', back), to: about('2', second) })
  for (const type of ['deploy', 'redeploy']) {
    const { body } = await ask(`/pipelines/${at.pipelineId}/plan`, { type }, { at })
    assert.equal(body.rollback, null)
  }
})

test('a redeploy takes the newest commit that is live on its servers', async () => {
  const { at, one, two, deploy } = await openTree()
  await deploy('1', [one, two])
  await deploy('2', [two])
  const commitFor = async (more: object) => {
    const { id, action_data } = await started(run({ type: 'redeploy', ...more }, { at }))
    await cancel(id, { at })
    return action_data.commit.hash
  }
  assert.equal(await commitFor({ servers: [one] }), commitOf('1').hash)
  assert.equal(await commitFor({}), commitOf('2').hash)
  await sql`delete from live_releases where server_id = ${one}`.execute(db)
  const answer = await refused(run({ type: 'redeploy', servers: [one] }, { at }), 409, 'conflict')
  assert.match(answer.message, /no live release/)
})

test('can_roll_back says which names a rollback on all servers accepts', async () => {
  const { at, one, two, deploy, back } = await openTree()
  for (const digit of ['1', '2']) await deploy(digit, [one, two])
  async function compare() {
    const { body } = await api.request('GET', `/applications/${at.applicationId}/releases`, {
      token: at.owner.token,
    })
    await sql`update releases_on_disk set on_disk = true where server_id in (${one}, ${two})`.execute(db)
    const said: Record<string, boolean> = {}
    for (const { releases } of body)
      for (const { release_name, can_roll_back } of releases) {
        said[release_name] = can_roll_back
        const { id } = (await back({ release_name })).body
        assert.equal(id !== undefined, can_roll_back, release_name)
        if (id) await cancel(id, { at })
      }
    return said
  }
  assert.deepEqual(await compare(), { [name('1')]: true, [name('2')]: false })
  await deploy('3', [two])
  assert.deepEqual(await compare(), { [name('1')]: true, [name('2')]: true, [name('3')]: true })
  await deploy('3', [one])
  assert.deepEqual(await compare(), { [name('1')]: true, [name('2')]: true, [name('3')]: false })
  const unknown = { reason: 'lost', targetId: null, candidate: null }
  const disk = { applicationId: at.applicationId, serverId: two }
  await db.transaction().execute((trx) => storeUnknown(trx, disk, unknown))
  assert.deepEqual(await compare(), { [name('1')]: true, [name('2')]: true, [name('3')]: true })
})
