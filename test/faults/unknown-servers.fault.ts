// A rollout that reverts all of its servers together, while it is not known of some whether they have switched.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { deployWith } from '#test/support/inventory.ts'
import { liveFile, liveRelease } from '#test/support/releases.ts'
import { makeRepository } from '#test/support/repository.ts'
import { openRunWorld } from '#test/support/run-world.ts'
import { startSshd } from '#test/support/sshd.ts'
import { installSwitchPoints } from '#test/support/switch-points.ts'
import { until } from '#test/support/until.ts'

// biome-ignore lint/suspicious/noExplicitAny: tests read responses of every shape
type Json = any

const all = { after }
const world = await openRunWorld(all, { environment: { GANTRY_POLL_MS: '500', GANTRY_SETTLE_SECONDS: '2' } })
const { ask, run, show, completed, endedWith, logOf } = world
const points = await installSwitchPoints(all, world.folder)
const settings = [`SetEnv PATH=${points.path}`]
const sshds = await Promise.all([1, 2, 3].map(() => startSshd(all, { settings })))

const reasonsOf = (action: Json) => action.targets.map(({ status_reason_code }: Json) => status_reason_code)

test('two of three servers are gone when the rollout fails: they are reverted once they are back', async () => {
  const repository = await makeRepository(all, { files: { verdict: 'good' } })
  const servers = []
  for (const [index, sshd] of sshds.entries()) servers.push(await world.newSshServer(sshd, index))
  const restart = { name: 'restart', command: 'cat verdict', idempotent: true, run_on_revert: true }
  const shop = await world.makeDeployable({
    repository: repository.address,
    servers,
    steps: deployWith({ 'activate-new-release': restart }),
    pipeline: {
      on_failure: 'revert',
      rollout: JSON.stringify({ batch: 3, max_failed: 0, on_failure: 'revert_all' }),
    },
  })
  const good = await completed(await run(shop.pipelineId))
  const [first, switched, waiting] = shop.bases as [string, string, string]
  await repository.commit({ verdict: 'bad' })
  await points.arm(switched, 'after')
  await points.arm(waiting, 'lock')
  const id = await run(shop.pipelineId)
  await Promise.all([switched, waiting].map(points.reached))
  await until('the first server is done', 60_000, async () => reasonsOf(await show(id))[0] === 'PENDING')
  await Promise.all(sshds.slice(1).map((sshd) => sshd.stop()))

  await until('the others are unknown, and keep connecting', 90_000, async () => {
    const { body } = await ask('GET', `/applications/${shop.applicationId}/live`)
    const states = body.map(({ state }: Json) => state)
    return states.filter((state: string) => state === 'unknown').length === 2
  })
  assert.deepEqual(reasonsOf(await show(id)), ['PENDING', 'REVERTING', 'REVERTING'])
  assert.equal(await liveFile(switched, 'verdict'), 'bad')
  await until('the log says so', 60_000, async () =>
    /could not be reached/.test(await logOf(id, 'revert-release', 1)),
  )
  await Promise.all(sshds.slice(1).map((sshd) => sshd.start()))

  const bad = await endedWith('FAILED_REVERTED', id)
  assert.deepEqual(reasonsOf(bad), ['FAILED_REVERTED', 'FAILED_REVERTED', 'FAILED_REVERTED'])
  for (const base of [first, switched, waiting]) {
    assert.equal(await liveRelease(base), good.action_data.release_name)
    assert.equal(await liveFile(base, 'verdict'), 'good')
  }
  const { body } = await ask('GET', `/applications/${shop.applicationId}/live`)
  for (const { state, action } of body) assert.deepEqual([state, action.id], ['known', good.id])
  // In the folder of the earlier release, on each of them.
  for (const { steps } of bad.targets) {
    const restarts = steps.filter(({ name }: Json) => name === 'restart')
    assert.equal(restarts.at(-1).status, 'completed')
  }
})
