// kill -9 of a worker while a server goes back to its earlier release: another worker finishes it.
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { after, test } from 'node:test'
import { deployWith, type StepInput } from '#test/support/inventory.ts'
import { liveFile, liveRelease } from '#test/support/releases.ts'
import { makeRepository } from '#test/support/repository.ts'
import { openRunWorld } from '#test/support/run-world.ts'

const environment = { GANTRY_HEARTBEAT_SECONDS: '10', GANTRY_POLL_MS: '1000' }
const all = { after }
const world = await openRunWorld(all, { roles: ['api'], environment })
const { run, completed, endedWith, show, logOf } = world

/** A bad release passes on the first server and fails on the second. */
const VERIFY: StepInput = {
  name: 'verify',
  command: `[[ $(<verdict) != bad ]] || mkdir '${world.notes}/first'`,
}
const reasonsOf = ({ targets }: { targets: { status_reason_code: string }[] }) =>
  targets.map((target) => target.status_reason_code)
const rollout = JSON.stringify({ batch: 1, max_failed: 0, on_failure: 'revert_all' })

test('a revert that was killed half-way is finished by another worker, on all servers', async () => {
  const worker = await world.start('worker')
  const repository = await makeRepository(all, { files: { verdict: 'good' } })
  const gate = world.makeGate('reverting')
  // Waits only where it runs again, in the folder of the earlier release.
  const restart: StepInput = {
    name: 'restart',
    command: `[[ $(<verdict) != good || ! -e '${gate.held}.armed' ]] || { ${gate.command}; }`,
    idempotent: true,
    run_on_revert: true,
  }
  const shop = await world.makeDeployable({
    repository: repository.address,
    servers: 2,
    steps: deployWith({ 'activate-new-release': [restart, VERIFY] }),
    pipeline: { on_failure: 'revert', rollout },
  })
  const good = await completed(await run(shop.pipelineId))
  await writeFile(`${gate.held}.armed`, '')
  await repository.commit({ verdict: 'bad' })
  const id = await run(shop.pipelineId)
  await gate.reached()
  const during = await show(id)
  assert.deepEqual([during.status, during.status_reason_code], ['in-progress', 'REVERTING'])
  assert.deepEqual(reasonsOf(during), ['PENDING', 'REVERTING'])
  await worker.kill()
  await gate.open()

  await world.start('worker')
  const bad = await endedWith('FAILED_REVERTED', id)
  for (const base of shop.bases) {
    assert.equal(await liveRelease(base), good.action_data.release_name)
    assert.equal(await liveFile(base, 'verdict'), 'good')
  }
  assert.deepEqual(reasonsOf(bad), ['FAILED_REVERTED', 'FAILED_REVERTED'])
  assert.match(await logOf(id, 'revert-release'), /^Reverted: /)
})
