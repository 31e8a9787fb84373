// What is live is read from servers: by every deploy, by server checks, and after interruptions. What is stored follows it.
import assert from 'node:assert/strict'
import { mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, suite, test } from 'node:test'
import { lockLive, storeUnknown } from '#model/live/live-record.ts'
import { makeRepository } from '#test/support/repository.ts'
import { openRunWorld } from '#test/support/run-world.ts'
import { until } from '#test/support/until.ts'

// biome-ignore lint/suspicious/noExplicitAny: tests read responses of every shape
type Json = any

const all = { after }
const world = await openRunWorld(all, { environment: { GANTRY_POLL_MS: '200', GANTRY_SETTLE_SECONDS: '1' } })
const { ask, run, completed, logOf, db } = world

async function makeShop({ deploys = 2, keep = 5 } = {}) {
  const repository = await makeRepository(all, { files: { version: '0' } })
  const shop = await world.makeDeployable({
    repository: repository.address,
    application: { deployments_keep: keep },
  })
  const [base, serverId] = [shop.bases[0]!, shop.serverIds[0]!]
  const runs: { id: number; release: string }[] = []
  async function deploy(version: string) {
    await repository.commit({ version })
    const action = await completed(await run(shop.pipelineId))
    runs.push({ id: action.id, release: action.action_data.release_name })
    return action
  }
  for (let version = 1; version <= deploys; version++) await deploy(String(version))
  const live = async () => (await ask('GET', `/applications/${shop.applicationId}/live`)).body[0]
  const pointTo = async (target: string) => {
    await rm(join(base, 'current'), { recursive: true, force: true })
    await symlink(target, join(base, 'current'))
  }
  /** Checks the server until it is found like this. On a busy machine, one check may not get that far. */
  const check = (holds: (found: Json) => boolean) =>
    until('a check of the server has corrected the record', 60_000, async () => {
      const { status } = await ask('POST', `/servers/${serverId}/check`, {})
      assert.equal(status, 200)
      const found = await live()
      return holds(found) && found
    })
  /** As a run that ended in the middle of its switch leaves it. */
  const forget = (candidate: { id: number; release: string }, targetId: number | null = null) =>
    db.transaction().execute(async (trx) => {
      await lockLive(trx, shop.applicationId)
      await storeUnknown(
        trx,
        { applicationId: shop.applicationId, serverId },
        {
          reason: 'The run ended during the switch.',
          targetId,
          candidate: { actionId: candidate.id, releaseName: candidate.release, commitSha: null },
        },
      )
    })
  return { ...shop, base, serverId, runs, repository, deploy, live, pointTo, check, forget }
}

async function audited(applicationId: number): Promise<object[]> {
  const entries = await db
    .selectFrom('audit_entries')
    .select(['verb', 'before', 'after', 'user_id'])
    .where('subject_type', '=', 'application')
    .where('subject_id', '=', String(applicationId))
    .where('verb', 'in', ['corrected', 'settled'])
    .orderBy('id')
    .execute()
  return entries.map(({ verb, before, after, user_id }) => ({ verb, before, after, user_id }))
}

test('a link that was moved by hand is noticed by a server check, and the record is corrected', async () => {
  const shop = await makeShop()
  const [first, second] = shop.runs
  await shop.check(({ state }) => state === 'known')
  assert.deepEqual(await audited(shop.applicationId), [])
  await shop.pointTo(`releases/${first!.release}`)
  assert.equal((await shop.live()).release_name, second!.release)
  const live = await shop.check(({ release_name }) => release_name === first!.release)
  assert.deepEqual([live.state, live.release_name, live.action.id], ['known', first!.release, first!.id])
  const [entry] = (await audited(shop.applicationId)) as { verb: string; before: object; after: object }[]
  assert.equal(entry!.verb, 'corrected')
  assert.equal((entry!.before as { live: string }).live, second!.release)
  assert.equal((entry!.after as { live: string }).live, first!.release)
})

test('by the next deploy as well, which compares with what the server serves', async () => {
  const shop = await makeShop()
  const [first] = shop.runs
  await shop.pointTo(`releases/${first!.release}`)
  const third = await shop.deploy('3')
  assert.match(await logOf(third.id, 'check-app-environment'), /different, and is corrected\.\n/)
  assert.doesNotMatch(await logOf(third.id, 'check-app-environment'), /gantry-live/)
  const { body } = await ask('GET', `/actions/${third.id}/changes`)
  assert.equal(body.comparisons[0].from.release_name, first!.release)
  assert.deepEqual((await shop.live()).action.id, third.id)
})

test('what is no release, or one that no run has activated, makes it unknown and never wrong', async () => {
  const shop = await makeShop()
  const [first, second] = shop.runs
  const mark = join(shop.base, '.gantry', 'activated', first!.release)
  const cases: [what: string, change: () => Promise<void>, reason: RegExp][] = [
    ['a link to elsewhere', () => shop.pointTo('/tmp'), /does not point to a release/],
    ['a dangling link', () => shop.pointTo('releases/20200101000000-00000000'), /no longer exists/],
    [
      'a release without a mark',
      async () => {
        await rename(mark, `${mark}.away`)
        await shop.pointTo(`releases/${first!.release}`)
      },
      /which no run has activated/,
    ],
    ['a mark that was cut off', () => writeFile(mark, 'abc'), /is damaged/],
    ['a mark of another Gantry', () => writeFile(mark, 'deadbeef0000-1 none\n'), /no run of this Gantry/],
    [
      'a folder',
      async () => {
        await rm(join(shop.base, 'current'))
        await mkdir(join(shop.base, 'current'))
      },
      /is not a link/,
    ],
  ]
  for (const [what, change, reason] of cases) {
    await change()
    const live = await shop.check(({ unknown_reason }) => reason.test(unknown_reason))
    assert.deepEqual([live.state, live.release_name], ['unknown', null], what)
    assert.equal(live.last_known.release_name, second!.release, what)
  }
  await shop.pointTo(`releases/${second!.release}`)
  await until('it is known again', 60_000, async () => (await shop.live()).state === 'known')
  assert.equal((await shop.live()).release_name, second!.release)
})

test('a release folder that was removed by hand: unknown, and the next deploy makes it known', async () => {
  const shop = await makeShop()
  await rm(join(shop.base, 'releases', shop.runs[1]!.release), { recursive: true })
  await shop.check(({ state }) => state === 'unknown')
  const third = await shop.deploy('3')
  const live = await shop.live()
  assert.deepEqual([live.state, live.action.id, live.last_known], ['known', third.id, null])
})

test('a check from a machine that no worker is on says nothing about a local server without a worker', async () => {
  const elsewhere = await openRunWorld(all, { roles: ['api'], environment: { GANTRY_WORKER_NAME: 'front' } })
  await elsewhere.start('worker', { GANTRY_WORKER_NAME: 'm1' })
  const repository = await makeRepository(all, { files: { version: '0' } })
  const shop = await elsewhere.makeDeployable({ repository: repository.address })
  const { id } = await elsewhere.completed(await elsewhere.run(shop.pipelineId))
  // As it looks from the other machine.
  await rm(join(shop.bases[0]!, 'current'))
  const { status } = await elsewhere.ask('POST', `/servers/${shop.serverIds[0]}/check`, {})
  assert.equal(status, 200)
  const [live] = (await elsewhere.ask('GET', `/applications/${shop.applicationId}/live`)).body
  assert.deepEqual([live.state, live.action?.id], ['known', id])
})

test('a link that was removed: nothing is live', async () => {
  const shop = await makeShop()
  await rm(join(shop.base, 'current'))
  const live = await shop.check(({ state }) => state === 'nothing')
  assert.deepEqual([live.release_name, live.last_known], [null, null])
})

test('an unknown server is asked until it is known, and that is in the audit log', async () => {
  const shop = await makeShop()
  const [first, second] = shop.runs
  await shop.forget(first!)
  await until('it is known again', 60_000, async () => (await shop.live()).state === 'known')
  assert.equal((await shop.live()).release_name, second!.release)
  const entries = (await audited(shop.applicationId)) as { verb: string; after: { live: string } }[]
  assert.deepEqual(
    entries.map(({ verb, after }) => [verb, after.live]),
    [['settled', second!.release]],
  )
})

test('while a server answers without saying what is live, the reason is its own', async () => {
  const shop = await makeShop()
  const second = shop.runs[1]!
  const attempts = join(shop.base, '.gantry', 'attempt')
  await rename(attempts, `${attempts}.away`)
  await mkdir(attempts)
  const { id: targetId } = await db
    .selectFrom('targets')
    .select('id')
    .where('action_id', '=', second.id)
    .executeTakeFirstOrThrow()
  await shop.forget(second, targetId)
  await until('the reason is that of the server', 60_000, async () =>
    /^Cannot write .*attempt/.test((await shop.live()).unknown_reason),
  )
  await rm(attempts, { recursive: true })
  await rename(`${attempts}.away`, attempts)
  await until('it is known again', 60_000, async () => (await shop.live()).state === 'known')
})

test('one that was unlinked is not asked, and is when it is linked again', async () => {
  const shop = await makeShop()
  const link = `/resource-links/application/${shop.applicationId}/server/${shop.serverId}`
  assert.equal((await ask('DELETE', link)).status, 204)
  await shop.forget(shop.runs[0]!)
  const other = await makeShop()
  await other.forget(other.runs[0]!)
  await until('the other one is known again', 60_000, async () => (await other.live()).state === 'known')
  const rows = await db
    .selectFrom('unknown_live_releases')
    .select('application_id')
    .where('application_id', '=', shop.applicationId)
    .execute()
  assert.equal(rows.length, 1)
  const { status } = await ask('PUT', link)
  assert.ok(status < 300, String(status))
  await until('it is known again', 60_000, async () => (await shop.live()).state === 'known')
})

suite('while it is unknown', () => {
  // `current` is a folder, so that it stays unknown.
  async function makeUnknown(options: Parameters<typeof makeShop>[0] = {}) {
    const shop = await makeShop(options)
    await rm(join(shop.base, 'current'))
    await mkdir(join(shop.base, 'current'))
    await shop.forget(shop.runs.at(-2)!)
    return shop
  }
  const serves = async (shop: Awaited<ReturnType<typeof makeShop>>, release: string) => {
    await rm(join(shop.base, 'current'), { recursive: true, force: true })
    await symlink(`releases/${release}`, join(shop.base, 'current'))
  }

  test('path rules start the run', async () => {
    const shop = await makeUnknown()
    const { body: hook } = await ask('POST', `/pipelines/${shop.pipelineId}/hooks/incoming`, {
      name: 'Push',
      trigger_when: { paths: ['docs/**'] },
    })
    const call = async () => {
      const answer = await fetch(hook.url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{}',
      })
      return ((await answer.json()) as { action_id: number }).action_id
    }
    const id = await call()
    // `current` is a folder, which is what ends it.
    await world.endedWith('FAILED', id)
    assert.match(
      await logOf(id, 'check-app-environment'),
      /^The live release of one of the servers is unknown\. The run starts\.\n/,
    )
    await serves(shop, shop.runs[1]!.release)
    await shop.check(({ state }) => state === 'known')
    assert.equal((await world.ended(await call())).status_reason_code, 'SKIPPED_UNCHANGED')
  })

  test('what a run ships and whether a commit is live are unknown, too', async () => {
    const shop = await makeUnknown()
    const plan = await ask('POST', `/pipelines/${shop.pipelineId}/plan?include=changes`, {})
    const [comparison] = plan.body.comparisons
    assert.deepEqual(
      [comparison.state, comparison.reason, comparison.from],
      ['unavailable', 'live_unknown', null],
    )
    const hash = await shop.repository.git(['rev-parse', 'main'])
    const { body } = await ask('GET', `/applications/${shop.applicationId}/live?contains=${hash}`)
    assert.deepEqual([body[0].contains, body[0].contains_reason], [null, 'live_unknown'])
  })

  test('what may be live on a server is not removed by the deploy that finds it so', async () => {
    const shop = await makeShop({ deploys: 2, keep: 2 })
    const [first, second] = shop.runs.map(({ release }) => release) as [string, string]
    await completed(await run(shop.pipelineId, { type: 'rollback', release_name: first }))
    await db
      .updateTable('applications')
      .set({ deployments_keep: 1 })
      .where('id', '=', shop.applicationId)
      .execute()
    await shop.pointTo('/nowhere')
    const { id } = await shop.deploy('3')
    assert.doesNotMatch(await logOf(id, 'get-new-release'), /Removed/)
    assert.match(
      await logOf(id, 'remove-old-releases'),
      new RegExp(`Removed: ${first}\\nRemoved: ${second}\\n`),
    )
  })
})
