// What connected hooks missed is caught up with: deliveries that GitHub could not make, and pushes that no host called for.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import { createConnect } from '#adapters/executors/connect.ts'
import { createHttpClient } from '#adapters/http-client/client.ts'
import { pruneCalls } from '#engine/incoming/prune.ts'
import { openRunner } from '#engine/runner/runner.ts'
import { createScheduler } from '#engine/scheduling/schedule-new.ts'
import { createAddressGuard } from '#platform/addresses/guard.ts'
import { createSshGuard } from '#platform/addresses/ssh-guard.ts'
import { openListener } from '#platform/database/listen.ts'
import { moveTo, openConnections, type Provider, startHost } from '#test/support/connections.ts'
import { TEST_BASE_URL } from '#test/support/harness.ts'
import { later } from '#test/support/later.ts'
import { LOCAL_SETTINGS } from '#test/support/local-settings.ts'
import type { Closer } from '#test/support/services/service.ts'
import { until } from '#test/support/until.ts'

const world = await openConnections({ after })
const { db, tree, request, createHook, done, pass } = world
const { token } = tree.owner
const variables = [
  { name: 'branch', path: 'ref', type: 'string', required: true },
  { name: 'commit', path: 'after', type: 'string', required: true },
]

world.startWorker()

const hash = (of: string | number) => String(of).padStart(40, '0')
const pushOf = (branch: string, after: string | number, before: string | number = 1) => ({
  ref: `refs/heads/${branch}`,
  before: hash(before),
  after: hash(after),
})

async function open(t: Closer, provider: Provider) {
  return connect(await startHost(t, provider), provider)
}
async function openGithub(t: Closer) {
  return connect(await startHost(t, 'github'), 'github')
}

/** A connected hook that was called for main, whose commit is now 1. */
async function connect<Host extends Awaited<ReturnType<typeof startHost>>>(host: Host, provider: Provider) {
  await moveTo(world, tree, provider, host.url)
  host.hooks.deliverTo(world.deliver)
  const hook = await createHook(provider, { connect: true, settings: settingsOf(provider) })
  await done(hook.id)
  const push = (branch: string, after: string | number) => {
    host.tips.set(branch, hash(after))
    return host.hooks.push('acme/shop', pushOf(branch, after))
  }
  assert.deepEqual(await push('main', 1), [202])
  return { host, hook, push }
}

function settingsOf(provider: Provider) {
  return { variables, ...(provider === 'gitlab' && { signature: { scheme: 'token' } }) }
}

/** Nothing can be delivered. */
const away = async () => null

/** Checks the connection until nothing is left to catch up with. */
async function caughtUp(id: string, atLeast = 0) {
  return until('the hook is caught up', 20_000, async () => {
    await pass(id)
    await done(id)
    const { rows } = await sql`
      select from missed_calls where hook_id = ${id} and state in ('waiting', 'redelivered')
      union all select from called_branches where hook_id = ${id} and differs_since is not null`.execute(db)
    const listed = await listMissed(id)
    return rows.length === 0 && listed.length >= atLeast && listed
  })
}

// biome-ignore lint/suspicious/noExplicitAny: as the API shows them
async function listMissed(id: string): Promise<any[]> {
  const { body } = await request('GET', `/hooks/incoming/${id}/missed-calls?per_page=100`, { token })
  return body.toReversed()
}
async function callsOf(id: string) {
  const { body } = await request('GET', `/hooks/incoming/${id}/requests?per_page=100`, { token })
  return body.toReversed()
}
const catchUpsOf = async (id: string) =>
  (await request('GET', `/hooks/incoming/${id}/catch-ups`, { token })).body

suite('what GitHub could not deliver', () => {
  test('is delivered again with its id: the newest push of each branch, and every other event', async (t) => {
    const { host, hook, push } = await openGithub(t)
    host.hooks.webhooks[0]!.events.push('issues')
    const before = (await callsOf(hook.id)).length
    host.hooks.deliverTo(away)
    await push('main', 2)
    await push('next', 3)
    await push('main', 4)
    await host.hooks.happen('acme/shop', 'issues', { action: 'opened' })
    await host.hooks.happen('acme/shop', 'issues', { action: 'closed' })
    const missed = host.hooks.deliveries.slice(-5)
    host.hooks.deliverTo(world.deliver)
    const listed = await caughtUp(hook.id)
    assert.deepEqual(
      listed.map(({ delivery_id, event, ref, commit, state }) => [delivery_id, event, ref, commit, state]),
      [
        [missed[0]!.guid, 'push', 'refs/heads/main', hash(2), 'superseded'],
        [missed[1]!.guid, 'push', 'refs/heads/next', hash(3), 'received'],
        [missed[2]!.guid, 'push', 'refs/heads/main', hash(4), 'received'],
        [missed[3]!.guid, 'issues', null, null, 'received'],
        [missed[4]!.guid, 'issues', null, null, 'received'],
      ],
    )
    const calls = (await callsOf(hook.id)).slice(before)
    assert.equal(calls.length, 4)
    const started = calls.filter(({ outcome }: { outcome: string }) => outcome === 'accepted')
    assert.deepEqual(
      started.map(({ action_id }: { action_id: number }) => action_id),
      [listed[1]!.action_id, listed[2]!.action_id],
    )
    const [caught, ...others] = await catchUpsOf(hook.id)
    assert.equal(others.length, 0)
    const { caught_up, superseded, waiting, lost } = caught
    assert.deepEqual([caught_up, superseded, waiting, lost], [4, 1, 0, 0])
    assert.deepEqual([caught.missed_from, caught.missed_until], [listed[0]!.missed_at, listed[4]!.missed_at])
    const asked = host.requests.length
    await caughtUp(hook.id)
    assert.equal(host.requests.slice(asked).filter(({ call }) => call === 'redeliver').length, 0)
  })

  test('is not delivered again after a later push of the branch has come, or when a call was answered with a verdict', async (t) => {
    const { host, hook, push } = await openGithub(t)
    host.hooks.deliverTo(away)
    await push('main', 2)
    host.hooks.deliverTo(world.deliver)
    assert.deepEqual(await push('main', 3), [202])
    host.hooks.webhooks[0]!.events.push('issues')
    assert.deepEqual(await host.hooks.happen('acme/shop', 'issues', { action: 'opened' }), [422])
    const listed = await caughtUp(hook.id)
    assert.deepEqual(
      listed.map(({ commit, state }) => [commit, state]),
      [[hash(2), 'superseded']],
    )
    assert.equal(host.requests.filter(({ call }) => call === 'redeliver').length, 0)
  })

  test('is asked for at most a hundred times an hour, and three hundred payloads are read', async (t) => {
    const { host, hook, push } = await openGithub(t)
    host.hooks.webhooks[0]!.events.push('issues')
    host.hooks.deliverTo(away)
    for (let commit = 2; commit <= 312; commit++) await push('main', commit)
    for (let issue = 0; issue < 110; issue++) await host.hooks.happen('acme/shop', 'issues', { issue })
    host.hooks.deliverTo(world.deliver)
    await pass(hook.id)
    await done(hook.id)
    const count = (name: string) => host.requests.filter(({ call }) => call === name).length
    assert.deepEqual([count('show delivery'), count('redeliver')], [300, 100])
    const [{ waiting }] = await catchUpsOf(hook.id)
    assert.ok(waiting >= 11, String(waiting))
    await pass(hook.id)
    await done(hook.id)
    assert.deepEqual([count('show delivery'), count('redeliver')], [311, 100])
    await sql`update missed_calls set redelivered_at = redelivered_at - interval '1 hour'`.execute(db)
    await pass(hook.id)
    await done(hook.id)
    const listed = await caughtUp(hook.id)
    assert.ok(listed.length > 0)
    const [{ caught_up, superseded }, ...others] = await catchUpsOf(hook.id)
    assert.deepEqual(others, [])
    assert.deepEqual([caught_up, superseded], [111, 310])
  })

  for (const call of ['list deliveries', 'show delivery', 'redeliver'])
    test(`is caught up with when the answer to "${call}" is lost: nothing is lost or doubled`, async (t) => {
      const { host, hook, push } = await openGithub(t)
      const before = (await callsOf(hook.id)).length
      host.hooks.deliverTo(away)
      await push('main', 2)
      await push('next', 3)
      host.hooks.deliverTo(world.deliver)
      host.fail({ call, performed: true, answer: 'reset' })
      const listed = await caughtUp(hook.id, 2)
      assert.deepEqual(
        listed.map(({ state }) => state),
        ['received', 'received'],
      )
      const outcomes = (await callsOf(hook.id))
        .slice(before)
        .map(({ outcome }: { outcome: string }) => outcome)
      assert.deepEqual(
        outcomes.filter((outcome: string) => outcome !== 'duplicate'),
        ['accepted', 'accepted'],
      )
    })
})

for (const provider of ['gitlab', 'gitea', 'github'] as const)
  suite(`a push that ${provider} never calls for`, () => {
    test('becomes one call, and the later call of the host is a duplicate for ten minutes', async (t) => {
      const { host, hook, push } = await open(t, provider)
      host.tips.set('main', hash(2))
      const [found, ...others] = await caughtUp(hook.id)
      assert.equal(others.length, 0)
      assert.deepEqual([found!.state, found!.ref, found!.commit], ['found', 'refs/heads/main', hash(2)])
      const call = (await callsOf(hook.id)).at(-1)
      assert.deepEqual([call.outcome, call.ip_address, call.id], ['accepted', null, found!.hook_request_id])
      assert.equal(found!.action_id, call.action_id)
      assert.deepEqual(await push('main', 2), [200])
      const duplicate = (await callsOf(hook.id)).at(-1)
      assert.deepEqual([duplicate.outcome, duplicate.action_id], ['duplicate', call.action_id])
      const [{ caught_up }] = await catchUpsOf(hook.id)
      assert.equal(caught_up, 1)
      await caughtUp(hook.id)
      assert.equal((await listMissed(hook.id)).length, 1)
      await sql`update missed_calls set created_at = created_at - interval '10 minutes'`.execute(db)
      await sql`update tree_version set version = version + 1`.execute(db)
      assert.deepEqual(await push('main', 2), [202])
    })
  })

test('what was caught up with is listed for 30 days', async (t) => {
  const { host, hook } = await open(t, 'gitea')
  host.tips.set('main', hash(2))
  await caughtUp(hook.id)
  const age = (interval: string) =>
    sql`update catch_ups set created_at = now() - ${interval}::interval where hook_id = ${hook.id}`.execute(
      db,
    )
  await age('29 days')
  await pruneCalls(db, 1)
  assert.equal((await listMissed(hook.id)).length, 1)
  await age('31 days')
  await pruneCalls(db, 1)
  assert.deepEqual([await catchUpsOf(hook.id), await listMissed(hook.id)], [[], []])
})

suite('branches', () => {
  test('are compared while GitLab has suspended the webhook, and not when people deleted it or switched it off', async (t) => {
    const { host, hook } = await open(t, 'gitlab')
    const [webhook] = host.hooks.webhooks
    if (!webhook || !('alert_status' in webhook)) throw new Error('no webhook')
    webhook.alert_status = 'temporarily_disabled'
    host.tips.set('main', hash(2))
    assert.equal((await caughtUp(hook.id)).length, 1)
    host.hooks.webhooks.length = 0
    host.tips.set('main', hash(3))
    await pass(hook.id)
    assert.equal((await done(hook.id)).state, 'missing')
    assert.equal((await listMissed(hook.id)).length, 1)
  })

  test('are compared a few seconds after the connection was repaired', async (t) => {
    const { host, hook, push } = await open(t, 'gitlab')
    host.hooks.webhooks.length = 0
    await pass(hook.id)
    assert.equal((await done(hook.id)).state, 'missing')
    assert.deepEqual(await push('main', 2), [])
    assert.equal((await world.ask(hook.id)).status, 202)
    assert.equal((await done(hook.id)).state, 'connected')
    const { rows } = await sql<{ isSoon: boolean }>`
      select due_at < now() + interval '6 seconds' as "isSoon" from hook_connections where hook_id = ${hook.id}`.execute(
      db,
    )
    assert.ok(rows[0]!.isSoon)
    const [listed] = await caughtUp(hook.id, 1)
    assert.deepEqual([listed.state, listed.commit], ['found', hash(2)])
  })

  test('that were deleted, or that the hook was never called for, make no call', async (t) => {
    const { host, hook } = await open(t, 'gitea')
    host.tips.delete('main')
    host.tips.set('other', hash(2))
    assert.equal((await caughtUp(hook.id)).length, 0)
  })
})

/** Takes the first target of a run as workers do. Its servers do not exist, so a run that is not skipped starts and fails. */
async function openRuns(t: Closer) {
  const guard = createAddressGuard({ allowTargets: ['127.0.0.0/8'], baseUrl: () => TEST_BASE_URL })
  const http = createHttpClient({ guard, userAgent: 'Gantry/test' })
  later(t, () => http.close())
  const onError = (error: Error) => assert.fail(error)
  const listener = await openListener(world.settings, { onError })
  later(t, () => listener.close())
  const sshGuard = createSshGuard({ targets: [] })
  const { connect } = createConnect({ ...LOCAL_SETTINGS, databaseUid: null, sshGuard })
  const silent = {
    debug() {},
    info() {},
    warn() {},
    error: (fields: object) => assert.fail(JSON.stringify(fields)),
  }
  const runner = await openRunner({
    ...{ db, box: world.box, log: silent, listener, onError, guard, http, connect },
    ...{ enqueueTargets: async () => {}, recheck: async () => {}, reattachSeconds: 300 },
    ...{ home: LOCAL_SETTINGS.home, maxSourceBytes: 1 },
  })
  const { signal } = new AbortController()
  const owned = { hold: async () => {}, held: sql`select 1`, complete: async () => {} }
  const read = async (id: number) => (await request('GET', `/actions/${id}`, { token })).body

  const schedule = createScheduler(db, async () => {})

  async function take(id: number) {
    await schedule([id])
    const [target] = (await read(id)).targets
    const of = { jobId: randomUUID(), attempt: 1, signal, isDraining: () => false, handOver: signal }
    await runner.run(target.id, { ...of, ...owned })
    return read(id)
  }
  return {
    async assertOutdated(id: number) {
      const action = await take(id)
      for (const { status, status_reason_code, started_at } of [action, ...action.targets])
        assert.deepEqual([status, status_reason_code, started_at], ['skipped', 'SKIPPED_OUTDATED', null])
    },
    async assertStarts(id: number) {
      const action = await take(id)
      assert.deepEqual([action.targets[0].status, action.started_at === null], ['failed', false])
    },
  }
}

suite('a deploy that was started by a late call', async () => {
  const { assertOutdated, assertStarts } = await openRuns({ after })

  /** A hook whose newest call for main came late. Everything that others wait for is over. */
  async function openLate(t: Closer, provider: Provider) {
    const opened = await open(t, provider)
    await sql`update pipelines set max_parallel_actions = 0 where id = ${tree.pipelineId}`.execute(db)
    await sql`update servers set max_parallel_actions = 0 where id = any(${tree.serverIds}::int[])`.execute(
      db,
    )
    const { host, hook, push } = opened
    host.hooks.deliverTo(away)
    await push('main', 2)
    host.hooks.deliverTo(world.deliver)
    const [late] = await caughtUp(hook.id, 1)
    assert.equal(late!.commit, hash(2))
    return { ...opened, late: late!.action_id as number }
  }
  /** From now on, nothing answers where the repository is. */
  const loseHost = () => moveTo(world, tree, 'github', 'http://127.0.0.1:1')

  for (const provider of ['github', 'gitea'] as const)
    test(`at ${provider} is outdated if its commit is no longer that of its branch, and the newer one starts`, async (t) => {
      const { host, push, hook, late } = await openLate(t, provider)
      host.tips.set('main', hash(3))
      await assertOutdated(late)
      await push('main', 3)
      await assertStarts((await callsOf(hook.id)).at(-1).action_id)
    })

  test('starts if its commit is that of its branch', async (t) => {
    const { late } = await openLate(t, 'github')
    await assertStarts(late)
  })

  test('is outdated if its branch is gone', async (t) => {
    const { host, late } = await openLate(t, 'github')
    host.tips.delete('main')
    await assertOutdated(late)
  })

  test('is judged by the newest call for its branch if the host does not answer', async (t) => {
    const { late: newest } = await openLate(t, 'github')
    await loseHost()
    await assertStarts(newest)
    const { late, push, hook } = await openLate(t, 'github')
    await push('main', 3)
    await pass(hook.id)
    await done(hook.id)
    await loseHost()
    await assertOutdated(late)
  })

  test('starts if a person replays the call', async (t) => {
    const { host, hook, late } = await openLate(t, 'github')
    host.tips.set('main', hash(3))
    const call = (await callsOf(hook.id)).at(-1)
    assert.equal(call.action_id, late)
    const replayed = await request('POST', `/hook-requests/${call.id}/replay`, { token })
    assert.equal(replayed.status, 202, replayed.text)
    await assertStarts(replayed.body.action_id)
    await assertOutdated(late)
  })

  test('is the only one that is judged: calls that came in time start older commits, too', async (t) => {
    const { host, hook, push } = await openLate(t, 'github')
    await push('main', 3)
    host.tips.set('main', hash(4))
    await assertStarts((await callsOf(hook.id)).at(-1).action_id)
  })
})
