// Every connection of a process is in use, or those of its queue are: what operators ask for answers anyway.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import pg from 'pg'
import { ownDatabase, startCalled, urlAt } from '#test/support/called-gantry.ts'
import { testServer } from '#test/support/database.ts'
import { later } from '#test/support/later.ts'
import { scrape } from '#test/support/metrics.ts'
import { call } from '#test/support/process.ts'
import { startSilentProxy } from '#test/support/silent-proxy.ts'
import { until } from '#test/support/until.ts'

const METRICS_TOKEN = 'a-token-for-prometheus-and-nobody-else'
const WITHIN_MS = 1_000

async function openStage(t: TestContext) {
  const database = await ownDatabase(t)
  const proxy = await startSilentProxy(t, testServer())
  const settings = {
    GANTRY_DATABASE_CONNECTIONS: '2',
    GANTRY_METRICS_TOKEN: METRICS_TOKEN,
    LOG_LEVEL: 'warn',
  }
  const called = await startCalled(t, urlAt(proxy.port, database), settings)
  const client = new pg.Client({ ...testServer(), database })
  await client.connect()
  later(t, () => client.end())
  const ready = () => call(called.gantry, 'GET', '/readyz')
  await until('it is ready', 30_000, async () => (await ready()).status === 200)
  return { ...called, client, ready }
}

/** How long each of them takes at most, in several rounds. */
async function measure(t: TestContext, what: string, asks: Record<string, () => Promise<unknown>>) {
  const slowest: Record<string, number> = {}
  for (let round = 0; round < 5; round += 1)
    for (const [name, ask] of Object.entries(asks)) {
      const began = performance.now()
      await ask()
      slowest[name] = Math.max(slowest[name] ?? 0, Math.round(performance.now() - began))
    }
  t.diagnostic(`${what}: ${JSON.stringify(slowest)} ms`)
  for (const [name, ms] of Object.entries(slowest)) assert.ok(ms < WITHIN_MS, `${name} took ${ms} ms`)
}

test('all connections wait for a lock: health and metrics answer within a second, a call within six, and each failure is named', async (t) => {
  const { gantry, token, client, callHook, get } = await openStage(t)
  assert.equal((await callHook('before')).status, 202)
  await client.query('begin')
  await client.query('select from projects for no key update')
  const change = () => call(gantry, 'PUT', '/projects/1', { token, body: { name: 'Another' } })
  let isOver = false
  /** Each waits for five seconds; then the next one takes its connection. */
  const hold = async () => {
    const statuses: number[] = []
    while (!isOver) statuses.push((await change()).status)
    return statuses
  }
  const held = [hold(), hold()]
  const waiting = async () => (await scrape(gantry.url!, token)).samples.get('gantry_database_pool_waiting')!
  const isHeld = async () => {
    const { samples } = await scrape(gantry.url!, METRICS_TOKEN)
    return samples.get('gantry_database_pool_connections{state="used"}') === 2
  }
  await until('both connections are in use', 10_000, isHeld)
  /** One of them waits at any time; most of them in vain. */
  const ask = async () => {
    const answers: { status: number; code: string }[] = []
    while (!isOver) {
      const { status, body } = await get('/organizations')
      answers.push({ status, code: body.code })
    }
    return answers
  }
  const refused = ask()
  await until('a request waits', 30_000, async () => (await waiting()) > 0)

  await measure(t, 'exhausted', {
    readyz: async () => assert.equal((await call(gantry, 'GET', '/readyz')).status, 200),
    healthz: async () => assert.equal((await call(gantry, 'GET', '/healthz')).status, 200),
    'metrics with the metrics token': () => scrape(gantry.url!, METRICS_TOKEN),
    'metrics with a token of an administrator': () => scrape(gantry.url!, token),
  })
  // Most calls need none of these connections; one that does is refused in time.
  const { status, took } = await callHook('meanwhile')
  t.diagnostic(`a call: ${status} after ${Math.round(took)} ms`)
  assert.ok([202, 503].includes(status) && took < 6_000, `${status} after ${took} ms`)
  const exhausted = 'gantry_database_failures_total{kind="pool_exhausted"}'
  await until('one waited in vain', 60_000, async () => {
    const { samples } = await scrape(gantry.url!, METRICS_TOKEN)
    return samples.get(exhausted)! > 0
  })
  isOver = true
  await client.query('rollback')
  const statuses = (await Promise.all(held)).flat()
  for (const { status, code } of await refused)
    assert.ok(status === 200 || (status === 503 && code === 'unavailable'), `${status} ${code}`)
  assert.equal((await change()).status, 200)

  const { samples } = await scrape(gantry.url!, token)
  const failures = (kind: string) => samples.get(`gantry_database_failures_total{kind="${kind}"}`)
  assert.equal(failures('lock_wait')! > 0, statuses.includes(503))
  for (const kind of ['unreachable', 'unresponsive', 'read_only', 'disk_full'])
    assert.equal(failures(kind), 0)
  const line = gantry.log.map((text) => JSON.parse(text)).find(({ kind }) => kind === 'pool_exhausted')
  assert.match(line.msg, /^database connections of this process all in use; end what holds them/)
})

test('the connections of the queue wait for a lock: health and metrics answer within a second, and say that it is stalled', async (t) => {
  const { gantry, token, client, ready } = await openStage(t)
  await client.query('begin')
  await client.query('lock table queue.job in share mode')
  const stalled = await until('it is not ready', 60_000, async () => {
    const answer = await ready()
    return answer.status === 503 && answer
  })
  assert.equal(stalled.body.code, 'queue_stalled')
  assert.doesNotMatch(stalled.body.message, /queue|worker/)
  const full = await call(gantry, 'GET', '/readyz', { token: METRICS_TOKEN })
  assert.match(full.body.message, /^No job went through the queue.*Check that a worker runs/)
  const admin = await call(gantry, 'GET', '/readyz', { token })
  assert.equal(admin.body.message, full.body.message)
  await measure(t, 'queue busy', {
    readyz: ready,
    'metrics with a token of an administrator': () => scrape(gantry.url!, token),
  })
  await client.query('rollback')
  await until('it is ready again', 30_000, async () => (await ready()).status === 200)
})
