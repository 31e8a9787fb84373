// Requests with the token of one credential to one origin share a rate budget.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import { claimDeliveries } from '#engine/outgoing/claim-deliveries.ts'
import { storePauses } from '#engine/outgoing/rate-budgets.ts'
import { apiBase } from '#model/hooks/presets/api-base.ts'
import { loadPauses } from '#model/hooks/rate-budgets.ts'
import { readDeliveryDepths } from '#ops/metrics/read-state.ts'
import { openDeliveries, openReceiver } from '#test/support/deliveries.ts'
import {
  openLimited,
  openTokenTree,
  passPauses,
  reportAll,
  SENDS_TOKEN,
  startMany,
} from '#test/support/rate-limits.ts'
import { untilTrue } from '#test/support/until.ts'
import { createTestTree, type TestTree } from '#test/support/world.ts'

const world = await openDeliveries({ after })
/** No worker runs here. */
const quiet = await openDeliveries({ after }, { delivers: false })
const { api, db, makeHook } = world

const pauses = () => db.selectFrom('rate_budgets').selectAll().orderBy('credential_id').execute()
const pauseOf = async (credentialId: number) =>
  (await pauses()).find((row) => row.credential_id === credentialId)
/** Seconds from now. */
const secondsLeft = async (credentialId: number) => {
  const row = await pauseOf(credentialId)
  return row ? Math.round((Date.parse(row.paused_until) - Date.now()) / 1_000) : null
}

async function countPending(hookId: string): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int from deliveries where hook_id = ${hookId} and state = 'pending'`.execute(db)
  return rows[0]!.count
}

async function open(t: Parameters<typeof openReceiver>[0], token = 'token-one') {
  const receiver = await openReceiver(t)
  const tree = await openTokenTree(api, token)
  const hook = await makeHook({ target_url: receiver.url, ...SENDS_TOKEN }, tree)
  return { receiver, tree, hook }
}

test('300 actions through a credential with 50 requests a minute: all ends arrive, another one is not delayed', async (t) => {
  const service = await openLimited(t, { busy: 50 })
  const [busy, idle] = [await openTokenTree(api, 'busy'), await openTokenTree(api, 'idle')]
  const hook = await makeHook({ target_url: `${service.url}/statuses`, ...SENDS_TOKEN }, busy)
  const other = await makeHook({ target_url: `${service.url}/statuses`, ...SENDS_TOKEN }, idle)
  const actions = await startMany(api, busy, 300)
  await untilTrue(() => service.accepted.length >= 50)
  await untilTrue(async () => (await pauseOf(busy.credentialId)) !== undefined)
  await reportAll(api, busy, actions, 'in-progress')
  await reportAll(api, busy, actions, 'completed')

  const others = await startMany(api, idle, 30)
  await reportAll(api, idle, others, 'completed')
  await untilTrue(() => others.every((id) => service.statusesOf(id).at(-1) === 'completed'))
  await untilTrue(async () => (await countPending(other.id)) === 0)
  assert.equal(service.accepted.filter(({ headers }) => headers['private-token'] === 'busy').length, 50)

  let minutes = 0
  for (; (await countPending(hook.id)) > 0; minutes += 1) {
    assert.ok(minutes < 10)
    const before = service.accepted.length
    service.renew()
    await passPauses(api, 62)
    await untilTrue(async () => service.accepted.length >= before + 50 || (await countPending(hook.id)) === 0)
    await untilTrue(
      async () => ((await secondsLeft(busy.credentialId)) ?? 0) > 0 || (await countPending(hook.id)) === 0,
    )
  }
  // One request for each action: what waited is superseded. The last of them may be stored a moment later.
  assert.ok(minutes === 6 || minutes === 7, `${minutes} minutes`)
  assert.equal(service.accepted.filter(({ headers }) => headers['private-token'] === 'busy').length, 350)
  assert.deepEqual(service.refused, [])
  for (const id of actions) {
    const statuses = service.statusesOf(id)
    assert.ok(['completed', 'queued,completed'].includes(statuses.join()), statuses.join())
  }
  assert.equal(await world.health(hook.id), undefined)
})

/** The hook and its attempts show the pause. */
async function assertShown(hookId: string, tree: TestTree): Promise<void> {
  const get = async (path: string) => (await world.request('GET', path, { token: tree.owner.token })).body
  const { paused_until } = (await pauseOf(tree.credentialId))!
  const shown = await get(`/hooks/outgoing/${hookId}`)
  assert.deepEqual([shown.paused_until, shown.health.state], [paused_until, 'active'])
  const time = `${paused_until.slice(11, 16)} UTC`
  const reason = RegExp(`^127\\.0\\.0\\.1:\\d+ allows no more requests until ${time} \\(rate limit\\)$`)
  assert.match(shown.paused_reason, reason)
  const [listed] = await get(`/environments/${tree.environmentId}/hooks`)
  assert.equal(listed.paused_until, paused_until)
  const [attempt] = await get(`/hooks/outgoing/${hookId}/requests`)
  assert.equal(attempt.next_attempt_at, paused_until)
}

suite('a request that a service refuses because of its limit', () => {
  test('counts neither as an attempt nor as a failure, and is sent when the pause is over', async (t) => {
    const { receiver, tree, hook } = await open(t)
    receiver.answer(429, { 'retry-after': '600' })
    await startMany(api, tree, 1)
    await world.recorded(hook.id, 1)
    await untilTrue(async () => (await secondsLeft(tree.credentialId)) !== null)
    const left = (await secondsLeft(tree.credentialId))!
    assert.ok(left > 590 && left <= 600, `${left} s`)
    const [waiting] = await world.deliveries(hook.id)
    assert.deepEqual([waiting!.state, waiting!.attempts, waiting!.leased_until], ['pending', 0, null])
    const [record] = await world.requests(hook.id)
    assert.deepEqual([record!.outcome, record!.response_status_code], ['refused', 429])
    assert.match(record!.error!, /^127\.0\.0\.1:\d+ allows no more requests for now \(rate limit\)\.$/)
    assert.equal(await world.health(hook.id), undefined)
    await assertShown(hook.id, tree)

    receiver.answer(200)
    await startMany(api, tree, 3)
    await passPauses(api, 500)
    await new Promise((resolve) => setTimeout(resolve, 150))
    assert.equal(receiver.arrivals.length, 1)
    await passPauses(api, 101)
    await receiver.until(5)
    await untilTrue(async () => (await countPending(hook.id)) === 0)
    const delivered = await world.deliveries(hook.id)
    assert.deepEqual(new Set(delivered.map(({ attempts }) => attempts)), new Set([1]))
  })

  test('waits longer each time when no end is named, until one succeeds', async (t) => {
    const { receiver, tree, hook } = await open(t)
    receiver.answer(403, {}, '{"message": "You have exceeded a secondary rate limit."}')
    await startMany(api, tree, 1)
    for (const seconds of [60, 120, 240, 480, 900]) {
      await untilTrue(async () => Math.abs(((await secondsLeft(tree.credentialId)) ?? 0) - seconds) <= 2)
      if (seconds === 900) receiver.answer(200)
      await passPauses(api, seconds + 1)
    }
    await untilTrue(async () => (await countPending(hook.id)) === 0)
    await untilTrue(async () => (await pauseOf(tree.credentialId))?.unnamed_pauses === 0)
    assert.equal((await pauseOf(tree.credentialId))!.reason, 'secondary rate limit')
  })

  test('fails permanently once it has waited as long as retries take', async (t) => {
    const { receiver, tree, hook } = await open(t)
    receiver.answer(429, { 'retry-after': '60' })
    await startMany(api, tree, 1)
    await world.recorded(hook.id, 1)
    await sql`update deliveries set created_at = now() - interval '23 hours' where hook_id = ${hook.id}`.execute(
      db,
    )
    await passPauses(api, 61)
    await untilTrue(async () => (await world.deliveries(hook.id))[0]!.state === 'failed')
    assert.equal((await world.requests(hook.id)).length, 2)
  })

  test('does not pause hooks that send no token', async (t) => {
    const { receiver, tree } = await open(t)
    receiver.behave((request, response) =>
      response.writeHead(request.headers['private-token'] ? 429 : 200, { 'retry-after': '600' }).end(),
    )
    await startMany(api, tree, 1)
    await untilTrue(async () => (await pauseOf(tree.credentialId)) !== undefined)
    const plain = await makeHook({ target_url: receiver.url, settings: { request_body: {} } }, tree)
    const [id] = await startMany(api, tree, 1)
    await reportAll(api, tree, [id!], 'completed')
    await untilTrue(async () => (await world.deliveries(plain.id))[0]?.state === 'delivered')
  })
})

test('a test is not sent during a pause, and its answer can begin one', async (t) => {
  const { receiver, tree, hook } = await open(t)
  const send = async () => {
    const path = `/hooks/outgoing/${hook.id}/test`
    const answer = await world.request('POST', path, { token: tree.owner.token, body: {} })
    assert.equal(answer.status, 200, answer.text)
    return answer.body
  }
  receiver.answer(429, { 'retry-after': '60' })
  assert.equal((await send()).outcome, 'refused')
  assert.equal(await secondsLeft(tree.credentialId), 60)
  const { outcome, error } = await send()
  assert.equal(outcome, 'blocked')
  assert.match(error, /^127\.0\.0\.1:\d+ allows no more requests for (60|59) s \(rate limit\)\.$/)
  assert.equal(receiver.arrivals.length, 1)
})

suite('a claim', () => {
  async function openPaused() {
    const tree = await openTokenTree(quiet.api, 'token')
    const make = (path: string) =>
      quiet.makeHook({ target_url: `https://Status.Example.com:443/${path}`, ...SENDS_TOKEN }, tree)
    const hooks = [await make('one'), await make('two')]
    const budget = { credentialId: tree.credentialId, origin: 'https://status.example.com' }
    await storePauses(quiet.db, [{ ...budget, ms: 60_000, reason: 'rate limit' }])
    const claim = async (slots: number) => {
      const each = new Map(hooks.map(({ id }) => [id, slots]))
      const claimed = await claimDeliveries(quiet.db, each, each)
      return claimed.map(({ hookId, action, event }) => [
        hookId === hooks[0]!.id ? 'one' : 'two',
        action.id,
        event.status,
      ])
    }
    return { tree, claim }
  }

  test('takes nothing while the budget is paused, then final deliveries of all its hooks first', async () => {
    const { tree, claim } = await openPaused()
    const [queued] = await startMany(quiet.api, tree, 1)
    const ended = await startMany(quiet.api, tree, 2)
    await reportAll(quiet.api, tree, ended, 'in-progress')
    await reportAll(quiet.api, tree, ended, 'completed')
    assert.deepEqual(await claim(9), [])
    await sql`update deliveries set due_at = due_at - interval '5 minutes'`.execute(quiet.db)
    const { late, limited } = await readDeliveryDepths(quiet.db)
    assert.deepEqual(
      { late, limited },
      { late: 0, limited: [{ origin: 'https://status.example.com', deliveries: 14 }] },
    )
    await passPauses(quiet.api, 61)
    const [first, second] = [await claim(1), await claim(2)]
    assert.deepEqual([first.length, second.length], [1, 2])
    const rest = await claim(2)
    const all = [...first, ...second, ...rest].map((row) => row.join(' ')).sort()
    const ends = ['one', 'two'].flatMap((hook) => ended.map((id) => `${hook} ${id} completed`))
    assert.deepEqual(all, [...ends, all.find((row) => row.endsWith('queued'))!].sort())
    assert.equal(rest.length, 2)
    assert.deepEqual((await claim(9)).length, 1)
    assert.ok(all.some((row) => row.includes(` ${queued} queued`)))
    // The others were superseded by the ends of their actions.
    const { rows } = await sql<{ state: string; count: number }>`
      select state, count(*)::int from deliveries where action_id = any(${ended}) group by 1 order by 1`.execute(
      quiet.db,
    )
    assert.deepEqual(rows, [
      { state: 'pending', count: 4 },
      { state: 'superseded', count: 8 },
    ])
  })

  test('keeps the order of what came after the pause', async () => {
    const { tree, claim } = await openPaused()
    await passPauses(quiet.api, 61)
    const [action] = await startMany(quiet.api, tree, 1)
    await reportAll(quiet.api, tree, [action!], 'in-progress')
    await reportAll(quiet.api, tree, [action!], 'completed')
    assert.deepEqual(
      (await claim(9)).map(([, , status]) => status),
      ['queued', 'queued'],
    )
  })

  test('knows whose token a hook sends: its own credential, its preset, or that of its application', async () => {
    const tree = await openTokenTree(quiet.api, 'token')
    const { id: own } = await quiet.db
      .insertInto('credentials')
      .columns(['organization_id', 'name', 'provider_code', 'auth_type', 'secret', 'created_by'])
      .expression((eb) =>
        eb
          .selectFrom('credentials')
          .select([
            'organization_id',
            eb.val('own').as('name'),
            'provider_code',
            'auth_type',
            'secret',
            'created_by',
          ])
          .where('id', '=', tree.credentialId),
      )
      .returning('id')
      .executeTakeFirstOrThrow()
    const target_url = 'https://api.github.com/statuses'
    const hook = await quiet.makeHook({ target_url, ...SENDS_TOKEN }, tree)
    const origin = 'https://api.github.com'
    await storePauses(quiet.db, [{ credentialId: own, origin, ms: 60_000, reason: 'rate limit' }])
    const set = (settings: object, credential_id: number | null) =>
      quiet.db
        .updateTable('hooks')
        .set({ settings: JSON.stringify(settings), credential_id })
        .where('id', '=', hook.id)
        .execute()
    const isPaused = async () => (await loadPauses(quiet.db, [hook.id])).size === 1
    const body = (token: string) => ({ request_body: { token: `{{ ${token} }}` } })
    const cases: [object, number | null, boolean][] = [
      [body('application.source_provider.access_token'), own, false],
      [body('credential.access_token'), null, false],
      [body('credential.access_token'), own, true],
      [body('credential["access_token"]'), own, true],
      [{ preset: { kind: 'github_status' } }, own, true],
      [{ preset: { kind: 'github_status' } }, null, false],
      [{ request_body: {} }, own, false],
      [
        { ...body('credential.access_token'), requests: { update: { target_url: 'https://other.example' } } },
        own,
        true,
      ],
    ]
    for (const [settings, credentialId, expected] of cases) {
      await set(settings, credentialId)
      assert.equal(await isPaused(), expected, JSON.stringify([settings, credentialId]))
    }
  })

  test('knows where a preset sends its token, also after the base_url has changed', async () => {
    const tree = await openTokenTree(quiet.api, 'token')
    const made = await quiet.makeHook({ settings: { preset: { kind: 'github_status' } } }, tree)
    const bases = [null, 'https://github.com', 'https://acme.ghe.com', 'https://git.example.com:8443/git']
    const origins = bases.map((baseUrl) => new URL(apiBase({ provider: 'github', baseUrl })).origin)
    for (const [index, base_url] of bases.entries()) {
      const { credentialId } = tree
      const changed = await quiet.request('PUT', `/credentials/${credentialId}`, {
        token: tree.owner.token,
        body: { base_url, token: 'token' },
      })
      assert.equal(changed.status, 200, changed.text)
      for (const origin of origins) {
        await quiet.db.deleteFrom('rate_budgets').where('credential_id', '=', credentialId).execute()
        await storePauses(quiet.db, [{ credentialId, origin, ms: 60_000, reason: 'rate limit' }])
        const isPaused = (await loadPauses(quiet.db, [made.id])).size === 1
        assert.equal(isPaused, origin === origins[index], `${base_url} ${origin}`)
      }
    }
  })

  test('ignores a pause of more than an hour: the clock was set back', async () => {
    const { tree, claim } = await openPaused()
    await startMany(quiet.api, tree, 1)
    await passPauses(quiet.api, -7_200)
    await sql`update deliveries set due_at = now()`.execute(quiet.db)
    assert.equal((await claim(9)).length, 2)
  })
})

test('a pause of another process keeps back what is claimed already', async (t) => {
  const { receiver, tree, hook } = await open(t)
  let inFlight: (() => void) | undefined
  receiver.behave((_, response) => {
    inFlight = () => response.end()
  })
  await startMany(api, tree, 1)
  await untilTrue(() => inFlight !== undefined)
  const { origin } = new URL(receiver.url)
  await storePauses(db, [{ credentialId: tree.credentialId, origin, ms: 60_000, reason: 'rate limit' }])
  await startMany(api, tree, 2)
  receiver.answer(200)
  inFlight!()
  await untilTrue(async () => (await countPending(hook.id)) === 2)
  await new Promise((resolve) => setTimeout(resolve, 120))
  assert.equal(receiver.arrivals.length, 1)
  await passPauses(api, 61)
  await receiver.until(3)
})

test('a tree without tokens has no budget', async (t) => {
  const receiver = await openReceiver(t)
  receiver.answer(200, { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(Date.now()) })
  const tree = await createTestTree(db)
  await makeHook({ target_url: receiver.url, settings: { request_body: {} } }, tree)
  const [id] = await startMany(api, tree, 1)
  await reportAll(api, tree, [id!], 'completed')
  await receiver.until(1)
  assert.equal(await pauseOf(tree.credentialId), undefined)
})
