// Runs that wait for the checks of their commit, from the call to the slot: a stand-in of the host with a real repository.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import { assertStarted } from '#test/support/calls.ts'
import { ASKING, addBuild, endBuild, FAILED, openChecks, QUEUED } from '#test/support/checks.ts'
import { commitOf, reasonOf, started } from '#test/support/runs.ts'
import { BAD_GATEWAY, failingAt } from '#test/support/services/failures.ts'
import { stateOf as reported } from '#test/support/services/github-checks.ts'
import { createMember, type TestTree } from '#test/support/world.ts'

const world = await openChecks({ after })
const {
  db,
  api,
  openTree,
  start,
  stateOf,
  look,
  later,
  gateOf,
  waitFor,
  ask,
  cancel,
  retry,
  stopWaiting,
  settle,
} = world

const repository = 'acme/shop'

const messageOf = async (at: TestTree, id: number) => (await gateOf(at, id)).details.message

const deploy = (sha: string) => ({ source_type: 'commit', source_ref: sha })

suite('a run waits for the checks of its commit', () => {
  stopWaiting()

  test('from the first to the last job, and starts once nothing has changed for a while', async () => {
    const { at, host, tip } = await openTree()
    const build = addBuild(host, tip, 'in_progress', 'https://ci.example.com/1')
    const id = await start(at)
    assert.equal(await stateOf(id), ASKING)
    const gate = await gateOf(at, id)
    assert.deepEqual([gate.state, gate.details.message], ['closed', 'Waiting for build (in_progress).'])
    assert.equal(gate.details.waiting_for.link, 'https://ci.example.com/1')
    assert.equal(gate.details.commit, tip)
    Object.assign(build.run, reported('success'))
    await later(20)
    await look()
    assert.equal(await messageOf(at, id), 'Waiting for more checks of GitHub Actions (in_progress).')
    host.checks.addRun(build.suite, 'test', 'success')
    Object.assign(build.suite, reported('success'))
    await later(20)
    await look()
    assert.equal(await stateOf(id), ASKING)
    await later(31)
    await look()
    assert.equal(await stateOf(id), QUEUED)
    assert.equal((await gateOf(at, id)).state, 'open')
  })

  test('a red one ends it, and its gate names the check', async () => {
    const { at, host, tip } = await openTree()
    addBuild(host, tip, 'failure', 'https://ci.example.com/2')
    const id = await start(at)
    assert.equal(await stateOf(id), FAILED)
    const { state, details } = await gateOf(at, id)
    assert.deepEqual([state, details.message], ['failed', 'build reported failure.'])
    assert.deepEqual(
      [details.waiting_for.name, details.waiting_for.link],
      ['build', 'https://ci.example.com/2'],
    )
  })

  test('a check that turns red after it was green ends it as well', async () => {
    const { at, host, tip } = await openTree()
    const build = addBuild(host, tip, 'success')
    const id = await start(at)
    assert.equal(await stateOf(id), ASKING)
    endBuild(build, 'failure')
    await later(31)
    await look()
    assert.equal(await stateOf(id), FAILED)
  })

  test('a call inserts it at the gate, and a force-push does not change its commit', async () => {
    const { at, host, tip, repository: git } = await openTree()
    const build = addBuild(host, tip, 'in_progress')
    const hook = await world.makeHook({}, at)
    const id = assertStarted(await world.call(hook, {}))
    assert.equal(await stateOf(id), ASKING, 'in the transaction of the call')
    await world.schedule([id])
    await look()
    const other = await git.commit({ 'index.html': 'other' }, { branch: 'other' })
    await git.branch('main', other)
    addBuild(host, other, 'failure')
    endBuild(build, 'success')
    await settle()
    assert.equal(await stateOf(id), QUEUED)
    assert.equal((await world.rowOf(id)).commit?.hash, tip)
  })

  test('at the timeout it ends, naming what it waited for', async () => {
    const { at, host, tip } = await openTree('github', { timeout_minutes: 5 })
    host.checks.addSuite({ repository, sha: tip })
    const id = await start(at)
    await later(290)
    await look()
    assert.equal(await stateOf(id), ASKING)
    await later(20)
    await look()
    assert.equal(await stateOf(id), FAILED)
    assert.equal(await messageOf(at, id), 'GitHub Actions was still queued after 5 minutes.')
  })

  test('after an outage of Gantry, the host is asked before a timeout counts', async () => {
    const { at, host, tip } = await openTree('github', { timeout_minutes: 5 })
    const build = addBuild(host, tip, 'in_progress')
    const id = await start(at)
    endBuild(build, 'success')
    await later(16)
    await look()
    // Nothing was running for an hour; the last answer was not settled.
    await later(3_600)
    await look()
    assert.equal(await stateOf(id), QUEUED)
  })

  test('of a commit without checks, it fails or proceeds', async () => {
    const { at } = await openTree('github', { timeout_minutes: 1 })
    const failing = await start(at)
    await later(61)
    await look()
    assert.equal(await stateOf(failing), FAILED)
    assert.equal(await messageOf(at, failing), 'The commit had no checks after 1 minute.')
    assert.equal((await waitFor(at, { without_checks: 'proceed' })).status, 200)
    const proceeding = await start(at)
    await settle()
    assert.equal(await stateOf(proceeding), QUEUED)
  })

  test('our own statuses never count', async () => {
    const { at, host, tip } = await openTree('github', { without_checks: 'proceed' })
    host.set({ repository, sha: tip, state: 'failure', context: 'gantry/production/Deploy' })
    host.set({
      repository,
      sha: tip,
      state: 'pending',
      context: 'x',
      target_url: 'http://gantry.test/actions/1',
    })
    const id = await start(at)
    assert.equal((await gateOf(at, id)).details.total, 0)
    await settle()
    assert.equal(await stateOf(id), QUEUED)
  })
})

suite('a slot that comes later', () => {
  stopWaiting()

  const slotted = async (sha: string, tree: Awaited<ReturnType<typeof openTree>>) => {
    const id = await start(tree.at, deploy(sha))
    await settle()
    assert.equal(await stateOf(id), QUEUED)
    const [target] = await world.targetsOf(id)
    return { id, target: target! }
  }

  test('is returned when a check has turned red meanwhile, and the run ends', async () => {
    const tree = await openTree()
    const build = addBuild(tree.host, tree.tip, 'success')
    const { id, target } = await slotted(tree.tip, tree)
    await later(61)
    endBuild(build, 'failure')
    await world.askAgain(target.id)
    await world.begin(id)
    assert.equal(await stateOf(id), ASKING)
    await later(16)
    await look()
    assert.equal(await stateOf(id), FAILED)
    assert.equal((await world.targetsOf(id))[0]!.status, 'failed')
  })

  test('is kept when they are still green, and within a minute the host is not asked', async () => {
    const tree = await openTree()
    addBuild(tree.host, tree.tip, 'success')
    const { id, target } = await slotted(tree.tip, tree)
    const before = tree.host.requests.length
    await later(20)
    await world.askAgain(target.id)
    assert.equal(tree.host.requests.length, before)
    await later(61)
    await world.askAgain(target.id)
    assert.ok(tree.host.requests.length > before)
    await world.begin(id)
    assert.match(await stateOf(id), /^in-progress/)
  })

  test('is returned when a new check runs, or the host does not answer, and the run continues later', async () => {
    const tree = await openTree()
    addBuild(tree.host, tree.tip, 'success')
    const { id, target } = await slotted(tree.tip, tree)
    await later(61)
    tree.host.fail(failingAt('list check suites', BAD_GATEWAY))
    await world.askAgain(target.id)
    await world.begin(id)
    assert.equal(await stateOf(id), ASKING)
    await later(31)
    await look()
    await later(31)
    await look()
    assert.equal(await stateOf(id), QUEUED)
  })
})

suite('a run at the gate', () => {
  stopWaiting()

  test('is let through by a person, and a setting that is tightened later holds it again', async () => {
    const { at, host, tip } = await openTree()
    addBuild(host, tip, 'in_progress')
    const id = await start(at)
    const override = () =>
      ask(`/actions/${id}/override`, { gate: 'checks', reason: 'The runner is broken' }, { at })
    const answer = await override()
    assert.equal(answer.status, 200, answer.text)
    assert.equal(await stateOf(id), QUEUED)
    const { state, details } = await gateOf(at, id)
    assert.deepEqual([state, details.overrides[0].reason], ['overridden', 'The runner is broken'])
    assert.match(await reasonOf(override()), /does not wait for checks/)
  })

  test('starts without them when it was started with an override; a retry waits again', async () => {
    const { at, host, tip } = await openTree()
    addBuild(host, tip, 'failure')
    const failed = await start(at)
    assert.equal(await stateOf(failed), FAILED)
    const again = await started(retry(failed, { at }))
    await world.schedule([again.id])
    assert.equal(await stateOf(again.id), ASKING)
    const override = [{ gate: 'checks', reason: 'Hotfix' }]
    const id = await start(at, { override })
    assert.equal(await stateOf(id), QUEUED)
  })

  test('can be canceled, and its host is not asked any more', async () => {
    const { at, host, tip } = await openTree()
    addBuild(host, tip, 'in_progress')
    const id = await start(at)
    assert.equal((await cancel(id, { at })).status, 202)
    assert.match(await stateOf(id), /FAILED_CANCELLED|SKIPPED/)
    await later(200)
    await look()
    const asked = host.requests.length
    await later(600)
    await look()
    assert.equal(host.requests.length, asked)
  })

  test('waits for approval once they are green', async () => {
    const { at, host, tip } = await openTree()
    const admin = await createMember(db, at, 'admin')
    const approval = await api.request('PUT', `/environments/${at.environmentId}`, {
      token: at.owner.token,
      body: { approval: {} },
    })
    assert.equal(approval.status, 200)
    assert.ok(admin)
    const build = addBuild(host, tip, 'in_progress')
    const id = await start(at)
    assert.equal(await stateOf(id), ASKING)
    endBuild(build, 'success')
    await settle()
    assert.equal(await stateOf(id), 'waiting/WAITING_APPROVAL at approval')
  })

  test('supersedes older runs only once they are green', async () => {
    const { at, host, tip } = await openTree()
    await sql`update pipelines set queue_policy = 'latest', max_parallel_actions = 1 where id = ${at.pipelineId}`.execute(
      db,
    )
    await sql`update tree_version set version = version + 1`.execute(db)
    const build = addBuild(host, tip, 'in_progress')
    const hook = await world.makeHook({}, at)
    const first = assertStarted(await world.call(hook, { n: 1 }))
    const second = assertStarted(await world.call(hook, { n: 2 }))
    await world.schedule([first, second])
    await look()
    assert.deepEqual([await stateOf(first), await stateOf(second)], [ASKING, ASKING])
    endBuild(build, 'success')
    await settle()
    assert.equal(await stateOf(second), QUEUED)
    assert.match(await stateOf(first), /^skipped/)
  })

  test('ends when its commit cannot be found, and a rollback does not wait', async () => {
    const { at } = await openTree()
    const id = await start(at, { source_type: 'branch', source_ref: 'nowhere' })
    assert.equal(await stateOf(id), 'failed/FAILED_SOURCE')
    const { state, details } = await gateOf(at, id)
    assert.equal(state, 'failed')
    assert.match(details.message, /nowhere/)
    const first = await world.deployed(at, 'a')
    await world.deployed(at, 'b')
    assert.ok(first && commitOf('a'))
    const rollback = await started(ask(`/pipelines/${at.pipelineId}/actions`, { type: 'rollback' }, { at }))
    await world.schedule([rollback.id])
    assert.equal(await stateOf(rollback.id), QUEUED)
  })

  test('is what a plan announces', async () => {
    const { at } = await openTree()
    const { body } = await ask(`/pipelines/${at.pipelineId}/plan`, {}, { at })
    assert.deepEqual([body.would_wait, body.gates[0].gate], ['WAITING_CHECKS', 'checks'])
    const override = [{ gate: 'checks', reason: 'The runner is broken' }]
    const through = await ask(`/pipelines/${at.pipelineId}/plan`, { override }, { at })
    assert.equal(through.body.would_wait, null)
    assert.deepEqual(
      through.body.gates.map(({ gate, state }: Record<string, string>) => [gate, state]),
      [['checks', 'overridden']],
    )
  })
})
