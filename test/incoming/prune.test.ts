// What the jobs incoming.prune and retention.prune remove of calls, and what they keep.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import { pruneCalls } from '#engine/incoming/prune.ts'
import { pruneOldData } from '#ops/retention/prune.ts'
import { openDatabase } from '#platform/database/connect.ts'
import { uuidAt } from '#platform/database/uuid-at.ts'
import { openQueue } from '#platform/queue/open-queue.ts'
import { assertStarted, type Hook, openCalls, withVariables } from '#test/support/calls.ts'
import { createTestDatabase, urlOf } from '#test/support/database.ts'
import { later } from '#test/support/later.ts'
import { ADMIN_ENVIRONMENT, startGantry, temporaryHome } from '#test/support/process.ts'
import { untilTrue } from '#test/support/until.ts'
import { createHook, createHookRequest, createTestTree } from '#test/support/world.ts'

const { api, db, tree, makeHook, call, requestsOf } = await openCalls({ after })

const BODIES = ['request_body', 'request_headers', 'response_body', 'response_headers'] as const

const pruneBodies = (keepBodiesDays: number) =>
  pruneOldData(db, {
    defaults: { runs_days: null, runs_per_pipeline: null, logs_days: null, requests_days: null },
    keepBodiesDays,
    signal: AbortSignal.timeout(60_000),
  })

/** Backdates the records of a hook, and their ids, which begin with their time. */
const age = async ({ id }: Pick<Hook, 'id'>, interval: string) => {
  const older = sql`(lpad(to_hex((extract(epoch from now() - ${interval}::interval) * 1000)::bigint), 12, '0')
    || right(replace(r.id::text, '-', ''), 20))::uuid`
  // In one transaction, where now() stands still.
  await db.transaction().execute(async (trx) => {
    await sql`update actions a set hook_request_id = ${older} from hook_requests r
      where r.hook_id = ${id} and r.id = a.hook_request_id`.execute(trx)
    await sql`update hook_requests r set created_at = now() - ${interval}::interval, id = ${older}
      where hook_id = ${id}`.execute(trx)
  })
}
const isPruned = (record: Record<(typeof BODIES)[number], unknown>) =>
  BODIES.every((name) => record[name] === null)

suite('bodies and headers', () => {
  test('are removed at the configured age, and the records stay', async () => {
    const hook = await makeHook(withVariables({ name: 'n', type: 'integer' }))
    const id = assertStarted(await call(hook, { n: 1 }))
    await call(hook, { n: 'x' })
    await call(hook, '{')
    await age(hook, '30 days 1 second')
    const before = await requestsOf(hook)
    await pruneBodies(30)
    const nothing = Object.fromEntries(BODIES.map((name) => [name, null]))
    assert.deepEqual(
      await requestsOf(hook),
      before.map((record) => ({ ...record, ...nothing })),
    )
    const { token } = tree.owner
    const listed = await api.request('GET', `/hooks/incoming/${hook.id}/requests`, { token })
    assert.equal(listed.body.length, 3)
    const started = before.find((record) => record.action_id === id)!
    const detail = await api.request('GET', `/hook-requests/${started.id}`, { token })
    assert.deepEqual([detail.status, detail.body.request_body, detail.body.action_id], [200, null, id])
    const action = await api.request('GET', `/actions/${id}`, { token })
    assert.deepEqual(
      action.body.triggered_from.hook_parsed_variables,
      { n: 1 },
      'the run keeps its variables',
    )
    assert.equal(action.body.hook_requests.incoming.id, started.id)
  })

  test('stay unchanged until then', async () => {
    const hook = await makeHook()
    await call(hook, '{ "a": 1 }')
    await age(hook, '29 days 23 hours 59 minutes')
    const before = await requestsOf(hook)
    await pruneBodies(30)
    assert.deepEqual(await requestsOf(hook), before)
    await pruneBodies(29)
    assert.ok(isPruned((await requestsOf(hook))[0]!))
  })

  test('are removed from deliveries as well', async () => {
    const id = await createHook(db, tree, 'outgoing')
    await createHookRequest(db, id, 'outgoing', {
      request_headers: '{"a":"b"}',
      request_body: Buffer.from('{}'),
      response_headers: '{"a":"b"}',
      response_body: Buffer.from('ok'),
    })
    await age({ id }, '31 days')
    await pruneBodies(30)
    const record = await db
      .selectFrom('hook_requests')
      .selectAll()
      .where('hook_id', '=', id)
      .executeTakeFirstOrThrow()
    assert.ok(isPruned(record))
    assert.equal(record.outcome, 'delivered')
  })

  test('are removed in any number, and a second run finds nothing to do', async () => {
    const hook = await makeHook()
    await sql`
      insert into hook_requests (id, hook_id, type, url, method, outcome, request_body, created_at)
      select gen_random_uuid(), ${hook.id}, 'incoming', 'x:', 'POST', 'accepted', 'x', now()
      from generate_series(1, 2500)`.execute(db)
    await age(hook, '31 days')
    const touched = async () => {
      const { rows } = await sql<{ kept: number; versions: string }>`
        select count(request_body) as kept, string_agg(xmin::text, ',' order by id) as versions
        from hook_requests where hook_id = ${hook.id}`.execute(db)
      return rows[0]!
    }
    await pruneBodies(30)
    const first = await touched()
    assert.equal(first.kept, 0)
    await pruneBodies(30)
    assert.deepEqual(await touched(), first)
  })
})

test('idempotency keys expire after a day: the next copy starts a run, and newer keys are still known', async () => {
  const [old, young] = [await makeHook(), await makeHook()]
  const send = (hook: Hook) => call(hook, {}, { headers: { 'idempotency-key': 'once' } })
  const claimsOf = (hook: Hook) =>
    db.selectFrom('delivery_claims').selectAll().where('hook_id', '=', hook.id).execute()
  const claimed = (hook: Hook, interval: string) =>
    sql`update delivery_claims set claimed_at = now() - ${interval}::interval where hook_id = ${hook.id}`.execute(
      db,
    )
  const ids = [assertStarted(await send(old)), assertStarted(await send(young))]
  await claimed(old, '24 hours 1 second')
  await claimed(young, '23 hours 59 minutes')
  await pruneCalls(db, 30)
  assert.deepEqual([(await claimsOf(old)).length, (await claimsOf(young)).length], [0, 1])
  assert.notEqual(assertStarted(await send(old)), ids[0])
  const copy = await send(young)
  assert.deepEqual([copy.status, copy.body.action_id], [200, ids[1]])
})

test('counts of rejected calls are removed at the same age as bodies', async () => {
  const hook = await makeHook()
  const hour = (interval: string) => sql<string>`date_trunc('hour', now() - ${interval}::interval)`
  const row = (interval: string, outcome: string, calls: number) => ({
    hook_id: hook.id,
    hour: hour(interval),
    outcome,
    calls,
  })
  await db
    .insertInto('refused_calls')
    .values([
      row('30 days 1 hour', 'rate_limited', 1),
      row('30 days 1 hour', 'rejected_signature', 2),
      row('29 days 22 hours', 'rate_limited', 3),
      row('0', 'rejected_signature', 4),
    ])
    .execute()
  await pruneCalls(db, 30)
  const left = await db
    .selectFrom('refused_calls')
    .select('calls')
    .where('hook_id', '=', hook.id)
    .orderBy('calls')
    .execute()
  assert.deepEqual(
    left.map(({ calls }) => calls),
    [3, 4],
  )
})

test('a worker prunes after GANTRY_KEEP_BODIES_DAYS', async (t) => {
  const { settings, drop } = await createTestDatabase()
  later(t, drop)
  const own = openDatabase(settings, { onIdleError: () => {} })
  later(t, () => own.close())
  const at = await createTestTree(own.db)
  const hookId = await createHook(own.db, at, 'incoming')
  const daysAgo = (days: number) => ({
    id: uuidAt(Date.now() - days * 86_400_000),
    request_body: Buffer.from('{}'),
    created_at: new Date(Date.now() - days * 86_400_000),
  })
  const old = await createHookRequest(own.db, hookId, 'incoming', daysAgo(4))
  const young = await createHookRequest(own.db, hookId, 'incoming', daysAgo(2))
  const queue = await openQueue({ settings, onError: () => {} })
  later(t, () => queue.close())
  await own.db.transaction().execute((trx) => queue.enqueue(trx, 'retention.prune', [{}]))
  await startGantry(t, {
    DATABASE_URL: urlOf(settings),
    GANTRY_HOME: await temporaryHome(t),
    GANTRY_ROLE: 'worker',
    GANTRY_KEEP_BODIES_DAYS: '3',
    ...ADMIN_ENVIRONMENT,
  })
  const kept = async () => {
    const rows = await own.db
      .selectFrom('hook_requests')
      .select('id')
      .where('request_body', 'is not', null)
      .execute()
    return rows.map(({ id }) => id)
  }
  await untilTrue(async () => !(await kept()).includes(old), 30_000)
  assert.deepEqual(await kept(), [young])
})
