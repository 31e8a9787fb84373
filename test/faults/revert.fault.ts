// Deploys that fail after activation: real git, a real sshd, and what is on the servers afterwards.
import assert from 'node:assert/strict'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { after, suite, type TestContext, test } from 'node:test'
import { deployWith, type StepInput } from '#test/support/inventory.ts'
import { liveFile, liveRelease, releasesIn } from '#test/support/releases.ts'
import { makeRepository } from '#test/support/repository.ts'
import { openRunWorld } from '#test/support/run-world.ts'
import { startSshd } from '#test/support/sshd.ts'

const all = { after }
const world = await openRunWorld(all)
const sshd = await startSshd(all)
const { makeDeployable, run, completed, ended, endedWith, logOf, ask, db } = world

/** Fails where the release says so: on the server that `verdict` names, or on all of them. */
const VERIFY: StepInput = {
  name: 'verify',
  command: 'read -r verdict < verdict; [[ $verdict != bad && $verdict != "bad on $GANTRY_SERVER" ]]',
}
const REVERT = { on_failure: 'revert' } as const

type Input = Omit<Parameters<typeof makeDeployable>[0], 'repository'>

async function makeShop(t: TestContext, input: Input = {}) {
  const repository = await makeRepository(t, { files: { verdict: 'good' } })
  const steps = deployWith({ 'activate-new-release': VERIFY })
  const shop = await makeDeployable({ repository: repository.address, steps, pipeline: REVERT, ...input })
  const deploy = async (verdict: string) => {
    await repository.commit({ verdict })
    return run(shop.pipelineId)
  }
  return { ...shop, base: shop.bases[0]!, deploy }
}

const releaseOf = (action: { action_data: { release_name: string } }) => action.action_data.release_name

async function liveActions(applicationId: number): Promise<number[]> {
  const rows = await db
    .selectFrom('live_releases')
    .select('action_id')
    .where('application_id', '=', applicationId)
    .orderBy('server_id')
    .execute()
  return rows.map((row) => row.action_id)
}

type Target = { status_reason_code: string; steps: { name: string; status: string }[] }
const stepsOf = ({ steps }: Target) => steps.map(({ name, status }) => `${name} ${status}`)
const reasonsOf = ({ targets }: { targets: Target[] }) => targets.map((one) => one.status_reason_code)

suite('a deploy that fails after activation', { concurrency: true }, () => {
  test('is taken back on one of three servers, and the rollout stops there', async (t) => {
    const servers = await Promise.all([0, 1, 2].map((account) => world.newSshServer(sshd, account)))
    const note = join(world.notes, 'restarted-')
    const restart: StepInput = {
      name: 'restart',
      command: `echo "$GANTRY_RELEASE $(<verdict) $PWD" >> '${note}'"$GANTRY_SERVER"`,
      idempotent: true,
      run_on_revert: true,
    }
    const shop = await makeShop(t, {
      servers,
      steps: deployWith({ 'activate-new-release': [restart, VERIFY] }),
      pipeline: { ...REVERT, rollout: JSON.stringify({ batch: 1, max_failed: 0 }) },
    })
    const good = await completed(await shop.deploy('good'))
    const bad = await endedWith('FAILED_REVERTED', await shop.deploy('bad on web-2'))
    assert.deepEqual(reasonsOf(bad), ['COMPLETED', 'FAILED_REVERTED', 'SKIPPED'])
    assert.deepEqual(stepsOf(bad.targets[1]).slice(-5), [
      'restart completed',
      'verify failed',
      'remove-old-releases skipped',
      'revert-release completed',
      'restart completed',
    ])
    assert.deepEqual(await Promise.all(shop.bases.map(liveRelease)), [bad, good, good].map(releaseOf))
    assert.deepEqual(await liveActions(shop.applicationId), [bad.id, good.id, good.id])
    const lines = (await readFile(`${note}web-2`, 'utf8')).trim().split('\n')
    assert.deepEqual(lines, [
      `${releaseOf(good)} good ${shop.bases[1]}/releases/${releaseOf(good)}`,
      `${releaseOf(bad)} bad on web-2 ${shop.bases[1]}/releases/${releaseOf(bad)}`,
      `${releaseOf(good)} good ${shop.bases[1]}/releases/${releaseOf(good)}`,
    ])
    const input = { type: 'rollback', release_name: releaseOf(bad) }
    assert.equal((await ask('POST', `/pipelines/${shop.pipelineId}/actions`, input)).status, 422)

    const fixed = await completed(await shop.deploy('good again'))
    const live = await Promise.all(shop.bases.map((base) => liveFile(base, 'verdict')))
    assert.deepEqual(live, ['good again', 'good again', 'good again'])
    assert.deepEqual(await liveActions(shop.applicationId), [fixed.id, fixed.id, fixed.id])
  })

  test('is taken back on all servers with revert_all, the last one first', async (t) => {
    const servers = await Promise.all([0, 1, 2].map((account) => world.newSshServer(sshd, account)))
    const rollout = JSON.stringify({ batch: 1, max_failed: 0, on_failure: 'revert_all' })
    const shop = await makeShop(t, { servers, pipeline: { ...REVERT, rollout } })
    const first = await endedWith('FAILED_REVERT', await shop.deploy('bad on web-3'))
    assert.deepEqual(reasonsOf(first), ['FAILED_REVERT', 'FAILED_REVERT', 'FAILED'])
    assert.match(await logOf(first.id, 'revert-release'), /^Nothing was live on this server before this run/)

    const good = await completed(await shop.deploy('good'))
    const bad = await endedWith('FAILED_REVERTED', await shop.deploy('bad on web-3'))
    assert.deepEqual(reasonsOf(bad), ['FAILED_REVERTED', 'FAILED_REVERTED', 'FAILED_REVERTED'])
    assert.deepEqual(await Promise.all(shop.bases.map(liveRelease)), [good, good, good].map(releaseOf))
    assert.deepEqual(await liveActions(shop.applicationId), [good.id, good.id, good.id])
    const backAt = bad.targets.map(({ steps }: { steps: { name: string; started_at: string }[] }) =>
      Date.parse(steps.find(({ name }) => name === 'revert-release')!.started_at),
    )
    assert.ok(backAt[2] < backAt[1] && backAt[1] < backAt[0], String(backAt))
  })

  test('leaves servers that are done as they are when somebody cancels the rest of revert_all', async (t) => {
    const gate = world.makeGate('held')
    const rollout = JSON.stringify({ batch: 1, max_failed: 0, on_failure: 'revert_all' })
    // The first server is done; the second one waits.
    const wait: StepInput = { name: 'wait', command: `mkdir '${world.notes}/done' || { ${gate.command}; }` }
    const steps = deployWith({ 'activate-new-release': wait })
    const shop = await makeShop(t, { servers: 2, steps, pipeline: { ...REVERT, rollout } })
    const id = await shop.deploy('good')
    await gate.reached()
    assert.deepEqual(reasonsOf(await world.show(id)), ['PENDING', 'IN_PROGRESS'])
    await world.cancel(id)
    const cancelled = await endedWith('FAILED_CANCELLED', id)
    assert.deepEqual(reasonsOf(cancelled), ['COMPLETED', 'FAILED_CANCELLED'])
    for (const base of shop.bases) assert.equal(await liveRelease(base), releaseOf(cancelled))
  })

  test('says so when there is nothing to go back to', async (t) => {
    const shop = await makeShop(t)
    const first = await endedWith('FAILED', await shop.deploy('bad'))
    assert.match(
      await logOf(first.id, 'verify'),
      /Not reverted: nothing was live on this server before this run/,
    )
    assert.equal(await liveRelease(shop.base), releaseOf(first))
    assert.deepEqual(await liveActions(shop.applicationId), [first.id])
  })

  test('keeps two releases with deployments_keep 1, and prunes the one that was taken back first', async (t) => {
    const shop = await makeShop(t, { application: { deployments_keep: 1 } })
    const [one, two] = [await completed(await shop.deploy('one')), await completed(await shop.deploy('two'))]
    assert.deepEqual(await releasesIn(shop.base), [one, two].map(releaseOf))
    const bad = await endedWith('FAILED_REVERTED', await shop.deploy('bad'))
    assert.equal(await liveFile(shop.base, 'verdict'), 'two')
    assert.equal((await releasesIn(shop.base)).includes(releaseOf(bad)), true)
    const three = await completed(await shop.deploy('three'))
    assert.deepEqual(await releasesIn(shop.base), [two, three].map(releaseOf))
    const back = await completed(await run(shop.pipelineId, { type: 'rollback' }))
    assert.equal(releaseOf(back), releaseOf(two), 'not the one that was taken back')
  })

  test('is named when the earlier release is gone, and what is live exists', async (t) => {
    const shop = await makeShop(t)
    const good = await completed(await shop.deploy('good'))
    await rm(join(shop.base, 'releases', releaseOf(good)), { recursive: true })
    const bad = await endedWith('FAILED_REVERT', await shop.deploy('bad'))
    assert.match(await logOf(bad.id, 'revert-release'), /is no longer on this server: .+ stays live/)
    assert.equal(await liveFile(shop.base, 'verdict'), 'bad')
    assert.deepEqual(await liveActions(shop.applicationId), [bad.id])
  })

  test('stays after an irreversible step, and with keep, exactly as before', async (t) => {
    const migrate: StepInput = { name: 'migrate', command: 'true', irreversible: true }
    const steps = deployWith({ 'build-application': migrate, 'activate-new-release': VERIFY })
    const [shop, keeping] = await Promise.all([
      makeShop(t, { steps }),
      makeShop(t, { pipeline: { on_failure: 'keep' } }),
    ])
    for (const one of [shop, keeping]) {
      await completed(await one.deploy('good'))
      const bad = await endedWith('FAILED', await one.deploy('bad'))
      assert.equal(await liveRelease(one.base), releaseOf(bad))
      assert.equal(stepsOf(bad.targets[0]).at(-1), 'remove-old-releases skipped')
      const isForbidden = /Not reverted: irreversible step migrate completed\./
      assert.equal(isForbidden.test(await logOf(bad.id, 'verify')), one === shop)
    }
  })

  test('is taken back when it is unhealthy, and the earlier release is checked', async (t) => {
    const seconds = { interval_seconds: 1, timeout_seconds: 5, within_seconds: 1, healthy_for_seconds: 0 }
    const command = 'read -r verdict < verdict; [[ $verdict != bad ]]'
    const check: StepInput = { name: 'check-health', health_check: { type: 'command', command, ...seconds } }
    const shop = await makeShop(t, { steps: deployWith({ 'activate-new-release': check }) })
    const first = await endedWith('FAILED_UNHEALTHY', await shop.deploy('bad'))
    assert.match(
      await logOf(first.id, 'check-health'),
      /Not reverted: nothing was live on this server before this run/,
    )
    await completed(await shop.deploy('good'))
    const bad = await endedWith('FAILED_REVERTED', await shop.deploy('bad'))
    assert.deepEqual(stepsOf(bad.targets[0]).slice(-4), [
      'check-health failed',
      'remove-old-releases skipped',
      'revert-release completed',
      'check-health completed',
    ])
    assert.equal(await liveFile(shop.base, 'verdict'), 'good')
  })

  test('is not taken back when somebody cancels it', async (t) => {
    const gate = world.makeGate('cancelled')
    const wait: StepInput = { name: 'wait', command: gate.command }
    const shop = await makeShop(t, { steps: deployWith({ 'activate-new-release': wait }) })
    await gate.open()
    await completed(await shop.deploy('good'))
    await gate.shut()
    const id = await shop.deploy('better')
    await gate.reached(2)
    await world.cancel(id)
    const cancelled = await ended(id)
    assert.equal(cancelled.status_reason_code, 'FAILED_CANCELLED')
    assert.equal(await liveRelease(shop.base), releaseOf(cancelled))
  })
})
