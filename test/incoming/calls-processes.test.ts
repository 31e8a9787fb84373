// Calls while hooks change in another process, and during a database outage.
import assert from 'node:assert/strict'
import { randomUUIDv7 } from 'node:crypto'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import { receiveCall } from '#engine/incoming/receive-call.ts'
import { createRejectionLog } from '#engine/incoming/rejections.ts'
import {
  assertRejected,
  assertStarted,
  openCalls,
  SIGNED,
  sign,
  tokenOf,
  withVariables,
} from '#test/support/calls.ts'
import { administer } from '#test/support/database.ts'
import { openTestApp, type TestApp } from '#test/support/harness.ts'
import { createTestTree } from '#test/support/world.ts'

const { api, db, tree, makeHook, changeHook, call, requestsOf } = await openCalls({ after })

suite('several processes', () => {
  test('a change through one applies to the next call to another', async (t) => {
    const other = await openTestApp(t, { beside: api })
    const hook = await makeHook(SIGNED)
    const there = (secret = hook.secret) => call({ ...hook, secret }, { ref: 'dev' }, { by: other })
    assertStarted(await there())
    await changeHook(hook, { active: false })
    assertRejected(await there(), 404, 'not_found')
    await changeHook(hook, { active: true })
    assertStarted(await there())
    await changeHook(hook, { trigger_when: { conditions: [{ path: 'ref', accepted_values: ['main'] }] } })
    assert.equal((await there()).status, 200)
    await changeHook(hook, { trigger_when: {}, ...withVariables({ name: 'n' }) })
    assertRejected(await there(), 422, 'invalid')
    await changeHook(hook, { settings: {}, secret_header_name: 'X-Other' })
    assertRejected(await there(), 403, 'forbidden')
    await changeHook(hook, { requires_secret: false })
    assertStarted(await there())
    const { status } = await api.request('DELETE', `/hooks/incoming/${hook.id}`, { token: tree.owner.token })
    assert.equal(status, 204)
    assertRejected(await there(), 404, 'not_found')
  })

  test('a rotated secret is valid immediately everywhere, and the old one during the overlap', async (t) => {
    const other = await openTestApp(t, { beside: api })
    const hook = await makeHook(SIGNED)
    const rotate = async (body: object = {}) => {
      const url = `/hooks/incoming/${hook.id}/rotate-secret`
      return (await api.request('POST', url, { token: tree.owner.token, body })).body.secret as string
    }
    const both = async (secret: string) =>
      Promise.all([api, other].map(async (by) => (await call({ ...hook, secret }, {}, { by })).status))
    const first = hook.secret!
    assert.deepEqual(await both(first), [202, 202])
    const second = await rotate()
    assert.deepEqual(await both(second), [202, 202])
    assert.deepEqual(await both(first), [202, 202])
    const third = await rotate({ overlap_seconds: 3600 })
    assert.deepEqual(await both(third), [202, 202])
    assert.deepEqual(await both(second), [202, 202])
    assert.deepEqual(await both(first), [403, 403], 'only one previous secret lives on')
    await sql`update hooks set previous_secret_until = now() where id = ${hook.id}`.execute(db)
    assert.deepEqual(await both(second), [403, 403])
    const fourth = await rotate({ overlap_seconds: 0 })
    assert.deepEqual(await both(third), [403, 403])
    assert.deepEqual(await both(fourth), [202, 202])
  })

  test('a process with an outdated cache rejects nobody because of it', async () => {
    const hook = await makeHook({ ...SIGNED, active: false })
    const known = await api.calls.cache.find(tokenOf(hook))
    let heard = false
    const cache: typeof api.calls.cache = {
      ...api.calls.cache,
      find: (name) => (heard ? api.calls.cache.find(name) : Promise.resolve(known)),
      clear() {
        heard = true
        api.calls.cache.clear()
      },
    }
    const receive = (secret: string) => {
      const headers = { 'x-hub-signature-256': sign(secret, '{}') }
      const sent = { headers, body: Buffer.from('{}'), address: '192.0.2.1' }
      return receiveCall({ ...api.calls, cache, maxPayload: 1024 }, tokenOf(hook), sent, 'x')
    }
    assert.equal((await receive(hook.secret!)).kind, 'not-found')
    await changeHook(hook, { active: true })
    assert.equal((await receive(hook.secret!)).kind, 'started', 'it was switched on')
    Object.assign(known!, await api.calls.cache.find(tokenOf(hook)))
    const url = `/hooks/incoming/${hook.id}/rotate-secret`
    const { body } = await api.request('POST', url, { token: tree.owner.token, body: {} })
    heard = false
    assert.equal((await receive(body.secret)).kind, 'started', 'it has a new secret')
    heard = false
    assert.equal((await receive('wrong')).kind, 'rejected_signature')
  })

  test('a call that is overtaken by many changes in a row is evaluated again after each', async () => {
    const hook = await makeHook()
    let changes = 20
    const cache: typeof api.calls.cache = {
      ...api.calls.cache,
      async find(name) {
        const current = await api.calls.cache.find(name)
        changes -= 1
        return changes < 0 ? current : { hook: current!.hook, version: -1 }
      },
    }
    const sent = { headers: {}, body: Buffer.from('{}'), address: '192.0.2.1' }
    const received = await receiveCall({ ...api.calls, cache, maxPayload: 1024 }, tokenOf(hook), sent, 'x')
    assert.equal(received.kind, 'started')
    assert.equal((await requestsOf(hook)).length, 1)
  })

  test('a call that keeps being overtaken by changes is 503, and nothing is stored', async () => {
    const hook = await makeHook()
    const known = await api.calls.cache.find(tokenOf(hook))
    const cache = {
      ...api.calls.cache,
      find: async () => ({ hook: known!.hook, version: -1 }),
    }
    const sent = { headers: {}, body: Buffer.from('{}'), address: '192.0.2.1' }
    const options = { ...api.calls, cache, maxPayload: 1024, staleForMs: 100 }
    await assert.rejects(receiveCall(options, 'x', sent, 'x'), { code: 'unavailable' })
    assert.deepEqual(await requestsOf(hook), [])
  })
})

suite('when the database is away', () => {
  const allowConnections = ({ settings }: TestApp, allowed: boolean) =>
    administer(`alter database ${settings.database} allow_connections ${allowed}`)
  /** When it resolves the connections have ended; without a time to wait they would only have been responses to. */
  const cut = ({ settings }: TestApp) =>
    administer(
      `select pg_terminate_backend(pid, 10000) from pg_stat_activity where datname = '${settings.database}'`,
    )

  test('a call is 503 with Retry-After, nothing is stored, and calls work again afterwards', async (t) => {
    const own = await openTestApp(t)
    const at = await createTestTree(own.db)
    const known = await makeHook(SIGNED, at, own)
    const unknown = await makeHook({}, at, own)
    assertStarted(await call(known, {}, { by: own }))
    await allowConnections(own, false)
    await cut(own)
    const sent = [known, unknown, { ...known, secret: 'wrong' }]
    const answers = await Promise.all(sent.map((hook) => call(hook, { lost: 1 }, { by: own })))
    for (const answer of answers) {
      assertRejected(answer, 503, 'unavailable')
      assert.equal(answer.headers['retry-after'], '2')
    }
    await allowConnections(own, true)
    assert.equal((await requestsOf(known, own.db)).length, 1)
    assert.equal((await requestsOf(unknown, own.db)).length, 0)
    assertStarted(await call(known, {}, { by: own }))
    assertStarted(await call(unknown, {}, { by: own }))
  })

  test('calls whose database connection breaks are stored completely or not at all', async (t) => {
    const own = await openTestApp(t)
    const at = await createTestTree(own.db)
    const hook = await makeHook({}, at, own)
    const answers = Array.from({ length: 200 }, async (_, n) => {
      for (let turn = 0; turn < n; turn += 1) await new Promise(setImmediate)
      return call(hook, { n }, { by: own })
    })
    for (let n = 0; n < 5; n += 1) await cut(own)
    const responses = await Promise.all(answers)
    assert.deepEqual(
      responses.filter(({ status }) => status !== 202 && status !== 503).map(({ text }) => text),
      [],
    )
    const { rows } = await sql<{ action: number; whole: boolean }>`
      select a.id as action, r.action_id = a.id and r.request_body is not null
        and (select count(*) from targets where action_id = a.id) = 2
        and (select count(*) from events where action_id = a.id) = 1
        and exists (select from queue.job where data -> 'action_ids' @> to_jsonb(a.id)) as whole
      from actions a full join hook_requests r on r.id = a.hook_request_id`.execute(own.db)
    assert.ok(rows.every(({ whole }) => whole))
    const stored = new Set(rows.map(({ action }) => action))
    for (const { status, body } of responses) if (status === 202) assert.ok(stored.has(body.action_id))
  })

  test('counted rejections are written when it is back', async (t) => {
    const own = await openTestApp(t)
    const at = await createTestTree(own.db)
    const hook = await makeHook(SIGNED, at, own)
    // Not the log of the app, which flushes on its own timer.
    const rejections = createRejectionLog(own.db)
    const refused = { outcome: 'rejected_signature', response_status_code: 403 }
    const problem = { signature_problem: 'mismatch' as const, delivery_id: null, body_bytes: 2 }
    const call = { ...refused, ...problem, ip_address: '192.0.2.1', url: 'x:' }
    const record = () => rejections.record(hook.id, { ...call, id: randomUUIDv7() })
    await Promise.all(Array.from({ length: 30 }, record))
    await allowConnections(own, false)
    await cut(own)
    await assert.rejects(rejections.flush())
    await allowConnections(own, true)
    await rejections.flush()
    const counts = await own.db.selectFrom('refused_calls').select('calls').execute()
    assert.ok(counts.length > 0)
    const counted = counts.reduce((sum, { calls }) => sum + calls, 0)
    assert.equal((await requestsOf(hook, own.db)).length + counted, 30)
  })
})
