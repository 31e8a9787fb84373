// Approvals with Gantry's own processes: what a worker finds out, targets that need approval again, and processes that die.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import { readInstallation } from '#ops/metrics/read-state.ts'
import { deployWith } from '#test/support/inventory.ts'
import { makeRepository } from '#test/support/repository.ts'
import { type Deployable, openRunWorld } from '#test/support/run-world.ts'
import { until } from '#test/support/until.ts'

const t = { after }
const world = await openRunWorld(t, { roles: ['api', 'worker'] })
const { db, ask, run, show, ended, completed } = world

async function openShop(approval: object = {}) {
  const repository = await makeRepository(t, { files: { n: '1' } })
  const gate = world.makeGate(`approval-${Math.random()}`)
  const shop = await world.makeDeployable({
    repository: repository.address,
    servers: 2,
    steps: deployWith({ 'activate-new-release': { name: 'wait', command: gate.command } }),
    pipeline: { rollout: JSON.stringify({ batch: 1, max_failed: 0 }) },
  })
  const body = { approval: { not_the_starter: false, ...approval } }
  const { status } = await ask('PUT', `/environments/${shop.environmentId}`, body)
  assert.equal(status, 200)
  return { repository, gate, shop }
}

const subjectOf = (id: number) =>
  until(`the subject of ${id} is known`, 60_000, async () => {
    const { body } = await ask('GET', `/actions/${id}/gates`)
    const approval = body.gates.find(({ gate }: { gate: string }) => gate === 'approval')
    return approval?.details.subject as string | undefined
  })
async function decide(verb: 'approve' | 'reject', id: number): Promise<void> {
  const { status, body } = await ask('POST', `/actions/${id}/${verb}`, { subject: await subjectOf(id) })
  assert.equal(status, 200, JSON.stringify(body))
}

const changeBuild = ({ applicationId }: Deployable) =>
  sql`update applications set build_command = 'true' where id = ${applicationId}`.execute(db)
const reasonsOf = async (id: number) =>
  (await show(id)).targets.map((target: { status_reason_code: string }) => target.status_reason_code)
const waits = (id: number) =>
  until(`a target of ${id} waits`, 60_000, async () => (await reasonsOf(id)).includes('WAITING_APPROVAL'))

suite('a deploy that was approved', () => {
  test('starts, and every server gets the commit', async () => {
    const { gate, shop } = await openShop()
    await gate.open()
    const id = await run(shop.pipelineId)
    await decide('approve', id)
    await completed(id)
  })

  test('needs approval again on the servers of later batches when a command has changed', async () => {
    const { gate, shop } = await openShop()
    const id = await run(shop.pipelineId)
    await decide('approve', id)
    await gate.reached()
    await changeBuild(shop)
    await gate.open()
    await waits(id)
    const action = await show(id)
    assert.deepEqual([action.status, action.status_reason_code], ['in-progress', 'PENDING'])
    assert.deepEqual(await reasonsOf(id), ['COMPLETED', 'WAITING_APPROVAL'])
    const { gates } = await readInstallation(db)
    assert.deepEqual(gates.find(({ gate }) => gate === 'approval')!.runs, 1)
    await decide('approve', id)
    await completed(id)
  })

  test('and is rejected on them: they fail, and the others stay', async () => {
    const { gate, shop } = await openShop()
    const id = await run(shop.pipelineId)
    await decide('approve', id)
    await gate.reached()
    await changeBuild(shop)
    await gate.open()
    await waits(id)
    await decide('reject', id)
    const action = await ended(id)
    assert.equal(action.status_reason_code, 'FAILED_REJECTED')
    assert.deepEqual(await reasonsOf(id), ['COMPLETED', 'FAILED_REJECTED'])
  })

  test('expires on them', async () => {
    const { gate, shop } = await openShop()
    const id = await run(shop.pipelineId)
    await decide('approve', id)
    await gate.reached()
    await changeBuild(shop)
    await gate.open()
    await waits(id)
    await subjectOf(id)
    await sql`update approval_requests set expires_at = now() where action_id = ${id}`.execute(db)
    const action = await ended(id)
    assert.equal(action.status_reason_code, 'FAILED_EXPIRED')
  })

  test('does not see its own servers as a change', async () => {
    const { gate, shop, repository } = await openShop()
    await gate.open()
    const first = await run(shop.pipelineId)
    await decide('approve', first)
    await completed(first)
    await repository.commit({ n: '2' })
    const second = await run(shop.pipelineId)
    await decide('approve', second)
    await completed(second)
  })
})

suite('a run that waits for approval', () => {
  test('shows what would ship now to a person who looks after something has changed', async () => {
    const { gate, shop } = await openShop()
    await gate.open()
    const id = await run(shop.pipelineId)
    const before = await subjectOf(id)
    await changeBuild(shop)
    assert.notEqual(await subjectOf(id), before)
    await decide('approve', id)
    await completed(id)
  })
})

suite('with processes that die', () => {
  test('a run at the gate is prepared by another worker, and expires without the first one', async () => {
    const { gate, shop } = await openShop()
    await gate.open()
    const [, worker] = world.processes
    await worker!.kill()
    const [id, late] = [await run(shop.pipelineId), await run(shop.pipelineId)]
    await world.start('worker')
    await decide('approve', id)
    await completed(id)
    await subjectOf(late)
    await sql`update approval_requests set expires_at = now() where action_id = ${late}`.execute(db)
    assert.equal((await ended(late)).status_reason_code, 'SKIPPED_EXPIRED')
  })
})
