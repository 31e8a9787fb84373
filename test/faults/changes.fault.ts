// What a deploy ships, from the fetch of its source to GET /actions/{id}/changes.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { sql } from 'kysely'
import { GitMissingError } from '#adapters/repositories/git.ts'
import { planChanges } from '#engine/run-commands/plan-changes.ts'
import { verifyLive } from '#engine/runner/check-paths.ts'
import { call } from '#test/support/process.ts'
import { makeRepository } from '#test/support/repository.ts'
import { openRunWorld } from '#test/support/run-world.ts'
import { createPerson, grantRole } from '#test/support/world.ts'

const world = await openRunWorld({ after })
const { run, completed, ask, db } = world

// biome-ignore lint/suspicious/noExplicitAny: the shape is asserted
async function changesOf(actionId: number): Promise<any> {
  const { status, body } = await ask('GET', `/actions/${actionId}/changes`)
  assert.equal(status, 200, JSON.stringify(body))
  return body
}

// biome-ignore lint/suspicious/noExplicitAny: the shape is asserted
const subjects = (commits: any) => commits.items.map(({ subject }: { subject: string }) => subject)

test('a deploy shows what it ships, in both directions, per live release', async (t) => {
  const repository = await makeRepository(t, { files: { 'a.txt': 'a', 'b.txt': 'b\n'.repeat(50) } })
  const first = await repository.git(['rev-parse', 'main'])
  const { pipelineId, serverIds } = await world.makeDeployable({ repository: repository.address, servers: 2 })

  const [unfetched] = await planOf(pipelineId, {})
  assert.deepEqual([unfetched.reason, unfetched.to.commit_sha], ['first_release', null])
  const one = await completed(await run(pipelineId))
  const nothing = await changesOf(one.id)
  assert.equal(nothing.state, 'unavailable')
  assert.equal(nothing.reason, 'first_release')
  assert.deepEqual(
    nothing.comparisons[0].servers.map(({ id }: { id: number }) => id),
    serverIds,
  )
  assert.equal(nothing.comparisons[0].to.commit_sha, first)

  const second = await repository.commit(
    { 'a.txt': 'A', 'b.txt': null, 'c.txt': 'b\n'.repeat(50) },
    { message: 'Move b' },
  )
  const planned = await planOf(pipelineId, { servers: [serverIds[0]] })
  const two = await completed(await run(pipelineId, { servers: [serverIds[0]] }))
  const shipped = await changesOf(two.id)
  assert.equal(shipped.state, 'compared')
  assert.equal(shipped.comparisons.length, 1)
  const { servers, commits, committed_at, ...comparison } = shipped.comparisons[0]
  assert.deepEqual(servers, [{ id: serverIds[0], name: two.targets[0].resource_data.name }])
  assert.deepEqual(comparison, {
    state: 'compared',
    reason: null,
    reason_human_readable: null,
    from: { action_id: one.id, release_name: one.action_data.release_name, commit_sha: first },
    to: { commit_sha: second },
    rewritten: false,
    removed_commits: { total: 0, items: [] },
    files: {
      total: 2,
      items: [
        { path: 'a.txt', status: 'modified', old_path: null },
        { path: 'c.txt', status: 'renamed', old_path: 'b.txt' },
      ],
    },
  })
  assert.equal(commits.total, 1)
  assert.deepEqual(commits.items[0], {
    sha: second,
    subject: 'Move b',
    author_name: 'Zoë',
    committed_at: '2026-11-01T08:00:00.000Z',
  })

  // The plan fetched the commit, and showed the same.
  assert.deepEqual(planned, shipped.comparisons)
  assert.equal((await ask('POST', `/pipelines/${pipelineId}/plan`, {})).body.comparisons, null)
  assert.equal(await planFor('viewer', pipelineId), null, 'who may not run it does not see what would ship')
  assert.equal((await planFor('developer', pipelineId)).length, 2)

  const rendered = await renderedWith(pipelineId, two.id, {
    counts: '{{ changes.commits_count }} {{ changes.removed_commits_count }} {{ changes.files_count }}',
    range: '{{ changes.from_sha }}...{{ changes.to_sha }} {{ changes.rewritten }}',
    list: '{% for commit in changes.commits %}{{ commit.sha }} {{ commit.subject }}, {{ commit.author_name }};{% endfor %}',
  })
  assert.deepEqual(rendered, {
    counts: '1 0 2',
    range: `${first}...${second} false`,
    list: `${second} Move b, Zoë;`,
  })

  // Servers differ now: each group is compared with what it serves.
  await repository.branch('main', first)
  await repository.commit({ 'd.txt': 'd' }, { message: 'Add d' })
  const third = await completed(await run(pipelineId))
  const three = await changesOf(third.id)
  assert.deepEqual(
    // biome-ignore lint/suspicious/noExplicitAny: the shape is asserted
    three.comparisons.map((one: any) => [
      one.servers[0].id,
      one.rewritten,
      subjects(one.commits),
      subjects(one.removed_commits),
    ]),
    [
      [serverIds[0], true, ['Add d'], ['Move b']],
      [serverIds[1], false, ['Add d'], []],
    ],
  )

  // Templates see the release that most servers served, without the lists that they do not use.
  const widen = sql`server_ids || array[999998, 999999]::bigint[]`
  await sql`update action_changes set server_ids = ${widen}
    where action_id = ${three.action_id} and from_commit = ${first}`.execute(db)
  assert.deepEqual(
    await renderedWith(pipelineId, three.action_id, {
      range: '{{ changes.from_sha }} {{ changes.removed_commits_count }} {{ changes.files_count }}',
    }),
    { range: `${first} 0 1` },
  )

  const back = await changesOf((await completed(await run(pipelineId, { type: 'rollback' }))).id)
  assert.equal(back.comparisons.length, 1)
  assert.equal(back.comparisons[0].rewritten, false)
  assert.deepEqual(subjects(back.comparisons[0].commits), ['Move b'])
  assert.deepEqual(subjects(back.comparisons[0].removed_commits), ['Add d'])

  const { release_name } = third.action_data
  const forward = await planOf(pipelineId, { type: 'rollback', release_name })
  assert.deepEqual(subjects(forward[0].commits), ['Add d'])

  // Both answers are the same after later deploys.
  assert.deepEqual(await changesOf(two.id), shipped)
})

/** What a run would ship. */
async function planOf(pipelineId: number, input: object) {
  const { status, body } = await ask('POST', `/pipelines/${pipelineId}/plan?include=changes`, input)
  assert.equal(status, 200, JSON.stringify(body))
  return body.comparisons
}

/** Of a plan, on a machine that has no git. */
async function reasonWithoutGit(applicationId: number, serverId: number) {
  const compare = () => Promise.reject(new GitMissingError())
  const deps = { db, repositories: { compare } } as unknown as Parameters<typeof planChanges>[0]
  const source = { source_type: 'branch', source_ref: 'main', repository: null, provider_name: null }
  const planned = {
    application: { id: applicationId, repository: '' },
    credentialId: null,
    deployment: { type: 'deploy', ...source },
    commitSha: 'f'.repeat(40),
    servers: [{ id: serverId, name: 'a' }],
  }
  return (await planChanges(deps, planned, AbortSignal.timeout(10_000)))[0]!.reason
}

/** What a member with this role sees of it. */
async function planFor(role: 'viewer' | 'developer', pipelineId: number) {
  const { token, id } = await createPerson(db)
  await grantRole(db, id, role, { organizationId: world.organizationId })
  const path = `/pipelines/${pipelineId}/plan?include=changes`
  const { status, body } = await call(world.processes[0]!, 'POST', path, { token, body: {} })
  assert.equal(status, 200, JSON.stringify(body))
  return body.comparisons
}

/** What a hook with this body would send about the action. */
async function renderedWith(pipelineId: number, actionId: number, request_body: object) {
  const target_url = 'https://93.184.216.34/'
  const input = { name: 'Chat', target_url, settings: { request_body } }
  const hook = await ask('POST', `/pipelines/${pipelineId}/hooks/outgoing`, input)
  assert.equal(hook.status, 201, JSON.stringify(hook.body))
  await ask('PUT', `/hooks/outgoing/${hook.body.id}`, { active: false })
  const { status, body } = await ask('POST', `/hooks/outgoing/${hook.body.id}/preview`, {
    action_id: actionId,
  })
  assert.equal(status, 200, JSON.stringify(body))
  return JSON.parse(body.body)
}

test('a live commit that the mirror lacks is named', async (t) => {
  const repository = await makeRepository(t, { files: { 'a.txt': 'a' } })
  const { pipelineId, applicationId, serverIds } = await world.makeDeployable({
    repository: repository.address,
  })
  await completed(await run(pipelineId))
  assert.equal(await reasonWithoutGit(applicationId, serverIds[0]!), 'unreadable')
  await db
    .updateTable('live_releases')
    .set({ commit_sha: 'f'.repeat(40) })
    .where('application_id', '=', applicationId)
    .execute()
  assert.equal(
    (await planOf(pipelineId, { source_type: 'branch', source_ref: 'no' }))[0].reason,
    'unknown_until_fetched',
  )
  const { state, reason } = await changesOf((await completed(await run(pipelineId))).id)
  assert.deepEqual([state, reason], ['unavailable', 'commit_missing'])
  await sql`update live_releases set commit_sha = null where application_id = ${applicationId}`.execute(db)
  const unknown = await changesOf((await completed(await run(pipelineId))).id)
  assert.equal(unknown.reason, 'commit_unknown')
})

test('a run that fetched nothing, one that is older, and one that is no deploy have a reason', async (t) => {
  const repository = await makeRepository(t, { files: { 'a.txt': 'a' } })
  const { pipelineId } = await world.makeDeployable({ repository: repository.address })
  const failed = await world.endedWith(
    'FAILED_SOURCE',
    await run(pipelineId, { source_type: 'branch', source_ref: 'no' }),
  )
  assert.equal((await changesOf(failed.id)).reason, 'not_fetched')
  const { id } = await completed(await run(pipelineId))
  await db.deleteFrom('action_changes').where('action_id', '=', id).execute()
  assert.equal((await changesOf(id)).reason, 'not_recorded')
  await sql`update targets set status = 'in-progress', status_reason_code = 'IN_PROGRESS', completed_at = null, steps = jsonb_set(steps, '{1,status}', '"in-progress"')
    where action_id = ${id}`.execute(db)
  const pending = await changesOf(id)
  assert.deepEqual([pending.state, pending.comparisons[0].state], ['pending', 'pending'])
  const custom = await world.makeCustom([{ name: 'true', command: 'true' }])
  const other = await completed(await run(custom.pipelineId))
  const { action_id, ...none } = await changesOf(other.id)
  assert.deepEqual(none, {
    state: 'unavailable',
    reason: 'not_a_deploy',
    reason_human_readable: 'Only deploys ship changes.',
    comparisons: [],
  })
  assert.equal((await ask('GET', '/actions/999999/changes')).status, 404)
})

test('a run is skipped only if what it was compared with is live on all servers, and no earlier deploy waits', async (t) => {
  const repository = await makeRepository(t, { files: { 'a.txt': 'a' } })
  const { pipelineId, applicationId, serverIds } = await world.makeDeployable({
    repository: repository.address,
    servers: 2,
  })
  const { id, action_data } = await completed(await run(pipelineId))
  const fromRelease: string = action_data.release_name
  const verify = async (actionId: number, compared: number[], isQueued = false) => {
    const undo = new Error('undo')
    let verdict = ''
    const work = db.transaction().execute(async (trx) => {
      if (isQueued)
        await sql`update targets set status = 'queued', status_reason_code = 'QUEUED', started_at = null,
          completed_at = null where action_id = ${id}`.execute(trx)
      const checked = { actionId, applicationId, serverIds }
      verdict = await verifyLive(trx, checked, [{ fromRelease, serverIds: compared }])
      throw undo
    })
    await assert.rejects(work, undo)
    return verdict
  }
  assert.equal(await verify(id + 1, serverIds), 'unchanged')
  assert.equal(await verify(id + 1, serverIds, true), 'busy')
  assert.equal(await verify(id - 1, serverIds, true), 'unchanged')
  await db.deleteFrom('live_releases').where('server_id', '=', serverIds[1]!).execute()
  assert.equal(await verify(id + 1, [serverIds[0]!]), 'changed', 'one was not compared')
})
