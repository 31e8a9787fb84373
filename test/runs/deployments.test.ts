// What real runs leave for insights: activations, reverts, rollbacks and results, stored with what is live.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { lockLive, storeUnknown } from '#model/live/live-record.ts'
import { deployWith } from '#test/support/inventory.ts'
import { makeRepository } from '#test/support/repository.ts'
import { openRunWorld } from '#test/support/run-world.ts'
import { until } from '#test/support/until.ts'

const all = { after }
const world = await openRunWorld(all, { environment: { GANTRY_POLL_MS: '200', GANTRY_SETTLE_SECONDS: '1' } })
const { ask, run, completed, ended, db } = world

async function makeShop() {
  const repository = await makeRepository(all, { files: { verdict: 'good' } })
  const verify = { name: 'verify', command: '[[ $(<verdict) == good* ]]' }
  const shop = await world.makeDeployable({
    repository: repository.address,
    steps: deployWith({ 'activate-new-release': verify }),
    pipeline: { on_failure: 'revert' },
  })
  const push = async (verdict: string) => {
    await repository.commit({ verdict })
    return ended(await run(shop.pipelineId))
  }
  const facts = () =>
    db
      .selectFrom('deployments')
      .selectAll()
      .where('application_id', '=', shop.applicationId)
      .orderBy('action_id')
      .execute()
  const insights = async () => (await ask('GET', `/applications/${shop.applicationId}/insights`)).body
  return { ...shop, serverId: shop.serverIds[0]!, push, facts, insights }
}

suite('what runs leave for insights', () => {
  test('a deploy, a redeploy, a revert and a rollback, each with its result', async () => {
    const shop = await makeShop()
    const first = await shop.push('good')
    const again = await completed(await run(shop.pipelineId, { type: 'redeploy' }))
    const bad = await shop.push('bad')
    assert.equal(bad.status_reason_code, 'FAILED_REVERTED')
    const next = await shop.push('good, too')
    const back = await completed(await run(shop.pipelineId, { type: 'rollback' }))
    const facts = await shop.facts()
    assert.deepEqual(
      facts.map((one) => [one.action_id, one.is_rollback, one.has_new_commit, one.result]),
      [
        [first.id, false, true, 'COMPLETED'],
        [again.id, false, false, 'COMPLETED'],
        [bad.id, false, true, 'FAILED_REVERTED'],
        [next.id, false, true, 'COMPLETED'],
        [back.id, true, true, 'COMPLETED'],
      ],
    )
    for (const [index, one] of facts.entries()) {
      assert.deepEqual(one.server_ids, [shop.serverId])
      assert.deepEqual(one.reverted_server_ids, index === 2 ? [shop.serverId] : [])
      assert.equal(one.reverted_at === null, index !== 2)
      assert.ok(one.committed_at! <= one.last_activated_at, 'the commit is older')
      assert.equal(one.first_activated_at, one.last_activated_at)
    }
    assert.equal(facts[0]!.commit_sha, first.action_data.commit.hash)
    assert.deepEqual(
      facts.map((one) => one.ended_at),
      [first, again, bad, next, back].map((one) => one.completed_at),
    )
    const { deployments, change_failure, restore_seconds, days } = await shop.insights()
    assert.equal(deployments.count, 3)
    // The bad one was reverted, the next one rolled back.
    assert.equal(change_failure.failed, 2)
    assert.deepEqual([restore_seconds.samples, restore_seconds.open], [2, 0])
    const sum = (kind: string) => days.reduce((n: number, day: Record<string, number>) => n + day[kind]!, 0)
    assert.deepEqual([sum('deployments'), sum('rollbacks'), sum('reverts')], [3, 1, 1])
  })

  test('a switch that was interrupted, once the server has said what it serves', async () => {
    const shop = await makeShop()
    const first = await shop.push('good')
    const second = await shop.push('good, too')
    const before = await shop.facts()
    // As if the connection had been lost in the switch, and the run had ended with that.
    const { id: targetId } = second.targets[0]
    const at = await db.transaction().execute(async (trx) => {
      await trx.deleteFrom('deployments').where('action_id', '=', second.id).execute()
      await lockLive(trx, shop.applicationId)
      const disk = { applicationId: shop.applicationId, serverId: shop.serverId }
      const { release_name: releaseName, commit } = first.action_data
      await trx
        .updateTable('live_releases')
        .set({ action_id: first.id, release_name: releaseName, commit_sha: commit.hash })
        .where('application_id', '=', shop.applicationId)
        .execute()
      await storeUnknown(trx, disk, { reason: 'The run ended during the switch.', targetId, candidate: null })
      const unknown = await trx.selectFrom('unknown_live_releases').selectAll().executeTakeFirstOrThrow()
      return unknown.since
    })
    const facts = await until('the server was asked', 60_000, async () => {
      const found = await shop.facts()
      return found.length === 2 && found
    })
    assert.deepEqual(facts, [before[0], { ...before[1]!, first_activated_at: at, last_activated_at: at }])
  })

  test('nothing of a run that ended before it switched', async () => {
    const shop = await makeShop()
    const unknown = await ended(await run(shop.pipelineId, { source_type: 'branch', source_ref: 'missing' }))
    assert.equal(unknown.status, 'failed')
    assert.deepEqual(await shop.facts(), [])
  })
})
