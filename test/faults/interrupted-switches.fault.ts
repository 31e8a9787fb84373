// A switch of `current` over a real sshd, interrupted at each point around it and in each way. Afterward what Gantry says is
// live is what the server serves, and a push that undoes the interrupted one is deployed.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { deployWith } from '#test/support/inventory.ts'
import { liveFile, liveRelease } from '#test/support/releases.ts'
import { makeRepository } from '#test/support/repository.ts'
import { openRunWorld } from '#test/support/run-world.ts'
import { startSshd } from '#test/support/sshd.ts'
import { installSwitchPoints, type SwitchPoint } from '#test/support/switch-points.ts'
import { until } from '#test/support/until.ts'

// biome-ignore lint/suspicious/noExplicitAny: tests read responses of every shape
type Json = any

const all = { after }
const world = await openRunWorld(all, {
  roles: ['api'],
  environment: { GANTRY_HEARTBEAT_SECONDS: '10', GANTRY_POLL_MS: '500', GANTRY_SETTLE_SECONDS: '2' },
})
const { ask, run, show, ended, cancel, db } = world
const points = await installSwitchPoints(all, world.folder)
const sshd = await startSshd(all, { settings: [`SetEnv PATH=${points.path}`] })
let worker = await world.start('worker')

const KNOWN_WITHIN_MS = 60_000
const COPIES = 4
const ACTIVATING: SwitchPoint[] = ['lock', 'mark', 'link', 'before', 'after']
const REVERTING: SwitchPoint[] = ['revert-before', 'revert-after']

/** One application on a server of its own, with something live on it. */
async function makeShop(point: SwitchPoint) {
  const repository = await makeRepository(all, { files: { verdict: 'good' } })
  const server = await world.newSshServer(sshd, 0)
  const verify = { name: 'verify', command: '[[ $(<verdict) == good ]]' }
  const shop = await world.makeDeployable({
    repository: repository.address,
    servers: [server],
    steps: deployWith({ 'activate-new-release': verify }),
    pipeline: { on_failure: 'revert' },
  })
  const { status, body } = await ask('POST', `/pipelines/${shop.pipelineId}/hooks/incoming`, {
    name: 'Push',
    trigger_when: { paths: ['verdict'] },
  })
  assert.equal(status, 201, JSON.stringify(body))
  const push = async (verdict: string): Promise<number> => {
    await repository.commit({ verdict })
    const called = await fetch(body.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{}',
    })
    const answer = (await called.json()) as { action_id: number }
    assert.equal(called.status, 202, JSON.stringify(answer))
    return answer.action_id
  }
  return { ...shop, base: shop.bases[0]!, point, repository, push }
}
type Shop = Awaited<ReturnType<typeof makeShop>>

async function liveOf({ applicationId }: Shop): Promise<Json> {
  const { body } = await ask('GET', `/applications/${applicationId}/live`)
  return body[0]
}

/** Nothing runs: what the server serves is what Gantry says, and it says so within a minute. */
async function agrees(shop: Shop): Promise<void> {
  const said = await until(`what is live at ${shop.point} is known`, KNOWN_WITHIN_MS, async () => {
    const live = await liveOf(shop)
    return live.state !== 'unknown' && live
  })
  assert.equal(said.release_name, await liveRelease(shop.base), shop.point)
}

/** Brings a run of each shop to its point. */
async function park(shops: readonly Shop[], { timeoutSeconds = 600 } = {}): Promise<number[]> {
  const pipelines = shops.map(({ pipelineId }) => pipelineId)
  await db
    .updateTable('pipeline_steps')
    .set({ timeout_seconds: timeoutSeconds })
    .where('pipeline_id', 'in', pipelines)
    .where('name', '=', 'activate-new-release')
    .execute()
  for (const { base, point } of shops) await points.arm(base, point)
  const ids = await Promise.all(shops.map(({ push }) => push('bad')))
  await Promise.all(shops.map(({ base }) => points.reached(base)))
  return ids
}

/** A push that undoes the interrupted one is deployed, whatever became of that. */
async function undo(shops: readonly Shop[]): Promise<void> {
  const ids = await Promise.all(shops.map(({ push }) => push('good')))
  for (const [index, id] of ids.entries()) {
    const shop = shops[index]!
    const fixed = await ended(id)
    const wasGood = fixed.status_reason_code === 'SKIPPED_UNCHANGED'
    if (!wasGood) assert.equal(fixed.status_reason_code, 'COMPLETED', shop.point)
    assert.equal(await liveFile(shop.base, 'verdict'), 'good', shop.point)
    await agrees(shop)
  }
}

const shops: Shop[] = []
for (const point of ACTIVATING) for (let copy = 0; copy < COPIES; copy++) shops.push(await makeShop(point))
const reverted = await Promise.all(REVERTING.map(makeShop))
for (const { pipelineId } of [...shops, ...reverted]) await world.completed(await run(pipelineId))

/** The reasons of runs that have ended, by the point that they were interrupted at. */
async function reasonsAt(of: readonly Shop[], ids: readonly number[]): Promise<Record<string, string>> {
  const reasons: Record<string, Set<string>> = {}
  for (const [index, id] of ids.entries()) {
    const { status_reason_code } = await ended(id, 120_000)
    const { point } = of[index]!
    reasons[point] ??= new Set()
    reasons[point].add(status_reason_code)
  }
  return Object.fromEntries(Object.entries(reasons).map(([point, found]) => [point, [...found].join(' ')]))
}

/** The same for all points but those that are named. */
const expected = (points: readonly SwitchPoint[], reason: string, others: Record<string, string> = {}) => ({
  ...Object.fromEntries(points.map((point) => [point, reason])),
  ...others,
})

suite('a switch is interrupted', () => {
  test('by a connection that breaks: the run continues', async () => {
    const ids = await park(shops)
    sshd.dropConnections()
    await points.release(shops)
    // The step behind the switch fails, as it would have without the interruption.
    assert.deepEqual(await reasonsAt(shops, ids), expected(ACTIVATING, 'FAILED_REVERTED'))
    for (const shop of shops) await agrees(shop)
    await undo(shops)
  })

  test('by the timeout of its step: what is live is reverted', async () => {
    const ids = await park(shops, { timeoutSeconds: 5 })
    const reasons = expected(ACTIVATING, 'FAILED_TIMEOUT', { after: 'FAILED_REVERTED' })
    assert.deepEqual(await reasonsAt(shops, ids), reasons)
    for (const shop of shops) await agrees(shop)
    await points.release(shops)
    await undo(shops)
  })

  test('by a person: nothing is reverted, and what is live is known', async () => {
    const ids = await park(shops)
    await Promise.all(ids.map(cancel))
    assert.deepEqual(await reasonsAt(shops, ids), expected(ACTIVATING, 'FAILED_CANCELLED'))
    for (const [index, shop] of shops.entries()) {
      await agrees(shop)
      const { targets } = await show(ids[index]!)
      assert.ok(
        targets[0].steps.every(({ name }: Json) => name !== 'revert-release'),
        shop.point,
      )
      const isNew = (await liveOf(shop)).action.id === ids[index]
      assert.equal(isNew, shop.point === 'after', shop.point)
    }
    await points.release(shops)
    await undo(shops)
  })

  test('by kill -9 of the worker: another one continues', async () => {
    const ids = await park(shops)
    await worker.kill()
    await points.release(shops)
    worker = await world.start('worker')
    assert.deepEqual(await reasonsAt(shops, ids), expected(ACTIVATING, 'FAILED_REVERTED'))
    for (const shop of shops) await agrees(shop)
    await undo(shops)
  })

  test('by a server that is gone for a while: unknown, until it is back', async () => {
    const ids = await park(shops)
    await sshd.stop()
    assert.deepEqual(await reasonsAt(shops, ids), expected(ACTIVATING, 'FAILED_UNREACHABLE'))
    for (const [index, shop] of shops.entries()) {
      const { state, release_name, last_known, candidate } = await liveOf(shop)
      assert.deepEqual([state, release_name], ['unknown', null])
      assert.notEqual(last_known.action.id, ids[index])
      assert.equal(candidate.action.id, ids[index])
    }
    await sshd.start()
    for (const [index, shop] of shops.entries()) {
      await agrees(shop)
      assert.equal((await liveOf(shop)).action.id === ids[index], shop.point === 'after', shop.point)
    }
    await undo(shops)
  })
})

suite('a revert is interrupted', () => {
  test('by a connection that breaks, and by kill -9 of the worker: it is completed', async () => {
    const interruptions = [
      async () => sshd.dropConnections(),
      async () => {
        await worker.kill()
        worker = await world.start('worker')
      },
    ]
    for (const interrupt of interruptions) {
      const ids = await park(reverted)
      await interrupt()
      await points.release(reverted)
      assert.deepEqual(await reasonsAt(reverted, ids), expected(REVERTING, 'FAILED_REVERTED'))
      for (const shop of reverted) {
        await agrees(shop)
        assert.equal(await liveFile(shop.base, 'verdict'), 'good', shop.point)
      }
    }
  })

  test('by a server that is gone for a while: unknown, until it is back', async () => {
    const ids = await park(reverted)
    await sshd.stop()
    assert.deepEqual(await reasonsAt(reverted, ids), expected(REVERTING, 'FAILED_REVERT'))
    for (const shop of reverted) assert.equal((await liveOf(shop)).state, 'unknown')
    await sshd.start()
    for (const shop of reverted) {
      await agrees(shop)
      assert.equal(await liveFile(shop.base, 'verdict'), shop.point === 'revert-after' ? 'good' : 'bad')
    }
    await undo(reverted)
  })
})

test('a connection no longer answers, and the step times out: the server is asked over another one', async () => {
  const shop = await makeShop('after')
  const good = await world.completed(await run(shop.pipelineId))
  const [id] = await park([shop], { timeoutSeconds: 5 })
  sshd.freezeConnections()
  await points.release([shop])
  await world.endedWith('FAILED_REVERTED', id!)
  assert.equal(await liveRelease(shop.base), good.action_data.release_name)
  await agrees(shop)
})

test('a command that wakes up after its switch was settled does not switch', async () => {
  const shop = await makeShop('lock')
  const good = await world.completed(await run(shop.pipelineId))
  const [id] = await park([shop])
  const frozen = sshd.freezeCommands()
  sshd.dropConnections()
  // Settled, and repeated: the step behind the switch fails, and the earlier release is live again.
  await world.endedWith('FAILED_REVERTED', id!)
  await agrees(shop)
  await points.release([shop])
  await frozen.wake()
  assert.equal(await liveRelease(shop.base), good.action_data.release_name)
  await agrees(shop)
})
