// trigger_when.paths: a worker compares the files of a commit with what is live, and skips runs that change nothing relevant.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { BUILT_IN, deployWith } from '#test/support/inventory.ts'
import { makeRepository } from '#test/support/repository.ts'
import { openRunWorld } from '#test/support/run-world.ts'

const world = await openRunWorld({ after })
const { ask, completed, endedWith, fire, logOf, makeDeployable, show } = world

async function makeHook(pipelineId: number, paths: string[]) {
  const input = { name: 'Push', requires_secret: true, trigger_when: { paths } }
  const { status, body } = await ask('POST', `/pipelines/${pipelineId}/hooks/incoming`, input)
  assert.equal(status, 201, JSON.stringify(body))
  assert.deepEqual(body.trigger_when, { conditions: [], paths })
  return { path: new URL(body.url).pathname, secret: body.secret as string }
}

/** The first line of the run's log, on the server where it was decided. */
async function whyStarted({ id, targets }: { id: number; targets: unknown[] }): Promise<string> {
  const logs = await Promise.all(targets.map((_, position) => logOf(id, BUILT_IN[0]!, position)))
  const log = logs.find((one) => one.includes('The run starts.')) ?? logs.join('')
  assert.doesNotMatch(log, /internal error in Gantry/)
  return log
}

const skipped = (actionId: number) => endedWith('SKIPPED_UNCHANGED', actionId)

test('a push runs if a file that the paths match has changed since what is live, else it is skipped', async (t) => {
  const repository = await makeRepository(t, { files: { 'api/a.ts': '1', 'docs/a.md': '1' } })
  const { pipelineId, environmentId } = await makeDeployable({ repository: repository.address, servers: 2 })
  const follower = await makeDeployable({
    repository: repository.address,
    environmentId,
    application: { name: 'Follower', folder: 'follower' },
  })
  const after = await ask('PUT', `/pipelines/${follower.pipelineId}`, { run_after: [pipelineId] })
  assert.equal(after.status, 200, JSON.stringify(after.body))
  const hook = await makeHook(pipelineId, ['{api,lib}/**', '!**/*.md'])

  const first = await completed(await fire(hook))
  assert.match(await whyStarted(first), /^Nothing is live yet on one of the servers\. The run starts\.\n/)

  const docs = await repository.commit({ 'docs/a.md': '2', 'api/README.md': '1' })
  const second = await skipped(await fire(hook))
  assert.equal(second.status, 'skipped')
  assert.equal(second.started_at, null)
  for (const target of second.targets) {
    assert.deepEqual([target.status, target.status_reason_code], ['skipped', 'SKIPPED_UNCHANGED'])
    assert.ok(target.steps.every(({ status }: { status: string }) => status === 'skipped'))
  }
  // Its children are read before or after it: those of the next reading are of the same moment, or later.
  const [child] = (await ask('GET', `/actions/${second.id}`)).body.children
  assert.equal(child.status, 'skipped')
  const { body: changes } = await ask('GET', `/actions/${second.id}/changes`)
  assert.equal(changes.state, 'compared')
  const [comparison] = changes.comparisons
  assert.deepEqual(comparison.from.action_id, first.id)
  assert.deepEqual(comparison.to.commit_sha, docs)
  assert.deepEqual(
    comparison.files.items.map(({ path }: { path: string }) => path),
    ['api/README.md', 'docs/a.md'],
  )

  // Moving a file out of a folder changes the folder.
  await repository.commit({ 'api/a.ts': null, 'web/a.ts': '1' })
  const third = await completed(await fire(hook))
  assert.match(await whyStarted(third), /has changed since release \S+\. The run starts\.\n/)
  assert.equal((await skipped(await fire(hook))).status, 'skipped')

  // A person who retries it, or starts the pipeline, decides.
  const retry = await ask('POST', `/actions/${second.id}/retry`, {})
  if (retry.status === 201) await completed(retry.body.id)
  await completed(await world.run(pipelineId))
})

test('a failed deploy loses nothing: what is live decides about the next push', async (t) => {
  const repository = await makeRepository(t, { files: { 'api/a.ts': '1' } })
  const { pipelineId } = await makeDeployable({
    repository: repository.address,
    steps: deployWith({ 'get-new-release': { name: 'test', command: 'test ! -e api/broken' } }),
  })
  const hook = await makeHook(pipelineId, ['api/**'])
  await completed(await fire(hook))
  await repository.commit({ 'README.md': '1' })
  await skipped(await fire(hook))
  await repository.commit({ 'api/a.ts': '2', 'api/broken': '' })
  await endedWith('FAILED', await fire(hook))
  // It touches no file under api/ itself; the push that failed did.
  await repository.commit({ 'README.md': '2' })
  await endedWith('FAILED', await fire(hook))
  await repository.commit({ 'api/broken': null })
  const fixed = await completed(await fire(hook))
  assert.match(await whyStarted(fixed), /^api\/a\.ts has changed/)
  await repository.commit({ 'README.md': '3' })
  await skipped(await fire(hook))
})

test('where nothing can be compared, the run starts and says why', async (t) => {
  const repository = await makeRepository(t, { files: { 'api/a.ts': '1' } })
  const { pipelineId, applicationId, serverIds } = await makeDeployable({
    repository: repository.address,
    servers: 2,
  })
  const hook = await makeHook(pipelineId, ['api/**'])
  await completed(await fire(hook))
  await skipped(await fire(hook))
  const live = (serverId: number) =>
    world.db
      .updateTable('live_releases')
      .where('application_id', '=', applicationId)
      .where('server_id', '=', serverId)
  await live(serverIds[1]!)
    .set({ commit_sha: 'f'.repeat(40), release_name: 'gone' })
    .execute()
  const gone = await completed(await fire(hook))
  assert.match(await whyStarted(gone), /^The files changed since release gone are unknown\. The run starts\./)
  await repository.git(['update-ref', '-d', 'refs/heads/main'])
  const absent = await endedWith('FAILED_SOURCE', await fire(hook))
  assert.match(await whyStarted(absent), /^The source could not be fetched\. The run starts\./)
})

test('pushes that wait are decided one by one, and slots go on', async (t) => {
  const repository = await makeRepository(t, { files: { 'api/a.ts': '1' } })
  const gate = await world.makeGate('paths')
  const { pipelineId } = await makeDeployable({
    repository: repository.address,
    steps: deployWith({ 'get-new-release': { name: 'hold', command: gate.command } }),
    pipeline: { max_parallel_actions: 1 },
  })
  const hook = await makeHook(pipelineId, ['api/**'])
  const ids = [await fire(hook), await fire(hook), await fire(hook)]
  await gate.reached()
  assert.equal((await show(ids[1]!)).status, 'waiting')
  await gate.open()
  await completed(ids[0]!)
  await skipped(ids[1]!)
  await skipped(ids[2]!)
})
