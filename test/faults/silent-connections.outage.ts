import assert from 'node:assert/strict'
import { test } from 'node:test'
import { disconnectAll, ownDatabase, startCalled, urlAt } from '#test/support/called-gantry.ts'
import { administer, testServer } from '#test/support/database.ts'
import { startSilentProxy } from '#test/support/silent-proxy.ts'
import { until } from '#test/support/until.ts'

const ANSWERED_MS = 11_000
/** Longer than a process keeps what it was granted of a hook's rate limit. */
const LEASE_MS = 1_200
const ENDS = ['completed', 'failed', 'skipped']

test('the answers of the database are lost: a call is looked up and its run is not', async (t) => {
  const proxy = await startSilentProxy(t, testServer())
  const { get, callHook } = await startCalled(t, urlAt(proxy.port, await ownDatabase(t)))
  assert.equal((await callHook('first')).status, 202)
  proxy.loseAnswers()
  const { status, body, took } = await callHook('second')
  t.diagnostic(`answered after ${Math.round(took)} ms`)
  assert.equal(status, 202, JSON.stringify(body))
  assert.ok(took < ANSWERED_MS)
  assert.equal((await callHook('second')).body.action_id, body.action_id, 'stored once')
  const ended = async () => (await get(`/actions/${body.action_id}`)).body
  await until('the run ends', 60_000, async () => ENDS.includes((await ended()).status))
  assert.notEqual((await ended()).status_reason_code, 'FAILED_WORKER_LOST')
})

test('the database goes silent: calls get outcome_unknown, /readyz turns red, and repeating starts one run', async (t) => {
  const proxy = await startSilentProxy(t, testServer())
  const { get, callHook } = await startCalled(t, urlAt(proxy.port, await ownDatabase(t)))
  const first = await callHook('first')
  assert.equal(first.status, 202)
  // A run in progress could hold every open connection: then nothing would be sent, and the call would be unavailable.
  await until('its run ends', 60_000, async () =>
    ENDS.includes((await get(`/actions/${first.body.action_id}`)).body.status),
  )
  proxy.silence({ forNewOnes: true })
  const { status, body, took } = await callHook('second')
  assert.deepEqual([status, body.code], [503, 'outcome_unknown'])
  assert.ok(took < ANSWERED_MS, `answered after ${took} ms`)
  assert.equal((await get('/readyz')).status, 503)
  proxy.heal()
  await until('ready again', 45_000, async () => (await get('/readyz')).status === 200)
  const again = await callHook('second')
  assert.ok([200, 202].includes(again.status))
  assert.equal((await callHook('second')).body.action_id, again.body.action_id)
})

test('the database goes silent: a call that has to ask it for the rate limit first is answered as soon', async (t) => {
  const proxy = await startSilentProxy(t, testServer())
  const { callHook } = await startCalled(t, urlAt(proxy.port, await ownDatabase(t)))
  assert.equal((await callHook('first')).status, 202)
  const calledAt = performance.now()
  await until('the lease of the first call is over', 5_000, () => performance.now() - calledAt > LEASE_MS)
  proxy.silence({ forNewOnes: true })
  const { status, took } = await callHook('second')
  assert.equal(status, 503)
  assert.ok(took < ANSWERED_MS, `answered after ${took} ms`)
  proxy.heal()
})

test('the database turns read-only, as in a failover: calls get 503, and 202 when it takes writes again', async (t) => {
  const proxy = await startSilentProxy(t, testServer())
  const database = await ownDatabase(t)
  const { get, callHook } = await startCalled(t, urlAt(proxy.port, database))
  assert.equal((await callHook('first')).status, 202)
  await administer(`alter database ${database} set default_transaction_read_only = on`)
  await disconnectAll(database)
  for (const delivery of ['second', 'third']) {
    const { status, body } = await callHook(delivery)
    assert.equal(status, 503, JSON.stringify(body))
  }
  assert.equal((await get('/readyz')).status, 503)
  await administer(`alter database ${database} reset default_transaction_read_only`)
  await disconnectAll(database)
  const back = performance.now()
  await until('accepted again', 10_000, async () => (await callHook('second')).status === 202)
  assert.ok(performance.now() - back < 5_000, 'accepted soon')
})
