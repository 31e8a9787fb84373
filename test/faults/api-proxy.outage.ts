// Two API processes behind HAProxy, as docs/scaling.md configures it: one is killed, and the database goes away.
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { ID_HEADERS } from '#engine/incoming/sender-headers.ts'
import { startApiProxy } from '#test/support/haproxy.ts'
import { openOwnPostgres } from '#test/support/own-postgres.ts'
import { openRunWorld } from '#test/support/run-world.ts'
import { scalingSnippet } from '#test/support/snippets.ts'
import { assertStartedOnce, startCalls } from '#test/support/steady-calls.ts'
import { until } from '#test/support/until.ts'

const LOAD_MS = 1_500
const TIMES_KILLED = 4

async function openBehindProxy(t: TestContext) {
  const server = await openOwnPostgres(t)
  await server.start()
  const world = await openRunWorld(t, {
    roles: ['api', 'api', 'worker'],
    database: { host: '127.0.0.1', port: server.port, user: 'gantry', database: 'postgres', ssl: false },
    environment: {
      DATABASE_URL: `postgres://gantry@127.0.0.1:${server.port}/postgres?sslmode=disable`,
      GANTRY_TRUST_PROXY: '127.0.0.1',
    },
  })
  const apis = world.processes.filter(({ url }) => url !== undefined)
  const ports = apis.map(({ url }) => new URL(url!).port)
  const proxy = await startApiProxy(t, [Number(ports[0]), Number(ports[1])])
  // For fetch, from now on.
  setDefaultCACertificates([...getCACertificates('bundled'), proxy.authority])
  const untilBothAreUp = () =>
    until('both are up', 20_000, async () => (await proxy.countUp()) === apis.length)
  await untilBothAreUp()
  const { pipelineId } = await world.makeCustom([{ name: 'nothing', command: 'true' }])
  const hook = await world.makeHook(pipelineId)

  /** One call; without a delivery id it is not known to be the same when it is repeated. */
  async function call(delivery?: string): Promise<Answer> {
    const body = JSON.stringify({ delivery })
    const response = await fetch(`${proxy.url}${hook.path}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-hub-signature-256': `sha256=${createHmac('sha256', hook.secret).update(body).digest('hex')}`,
        ...(delivery !== undefined && { 'x-github-delivery': delivery }),
      },
      body,
    })
    return { status: response.status, headers: response.headers, text: await response.text() }
  }

  async function restart(index: number): Promise<void> {
    apis[index] = await world.start('api', { PORT: ports[index]! })
    await untilBothAreUp()
  }

  return { world, server, apis, restart, proxy, hook, call }
}

test('an API process is killed under load, again and again: no call fails, and none starts two runs', async (t) => {
  const { world, apis, restart, proxy, hook } = await openBehindProxy(t)
  const calls = startCalls({ urls: () => [proxy.url], hooks: [hook], senders: 12, gapMs: 30 })
  for (let time = 0; time < TIMES_KILLED; time += 1) {
    await delay(LOAD_MS)
    await apis[time % 2]!.kill()
    await delay(LOAD_MS)
    await restart(time % 2)
  }
  await calls.stop()
  t.diagnostic(`${calls.actions.size} calls, ${TIMES_KILLED} times a process was killed`)
  assert.deepEqual([...calls.refusals], [])
  assert.ok(calls.actions.size > 100)
  await assertStartedOnce(world.db, calls.actions, [])
})

test('what a killed process may have received is sent again only if it cannot start a second run', async (t) => {
  const { world, apis, call } = await openBehindProxy(t)
  // It takes connections and requests, and answers none.
  apis[0]!.child.kill('SIGSTOP')
  const without = [call(), call(), call(), call()]
  const withId = [call('a'), call('b'), call('c'), call('d')]
  await Promise.any(without)
  await Promise.any(withId)
  await apis[0]!.kill()
  assert.deepEqual(
    (await Promise.all(withId)).map(({ status }) => status),
    [202, 202, 202, 202],
  )
  const statuses = (await Promise.all(without)).map(({ status }) => status)
  assert.deepEqual(new Set(statuses), new Set([202, 502]))
  const { length: lost } = statuses.filter((status) => status === 502)
  const { actions } = await world.db
    .selectFrom('actions')
    .select((of) => of.fn.countAll<number>().as('actions'))
    .executeTakeFirstOrThrow()
  assert.equal(actions, 8 - lost)
})

test('the configuration knows every header that carries the id of a sender, and no other', async () => {
  const snippet = await scalingSnippet('frontend gantry')
  const named = [...snippet.matchAll(/acl has_id req\.hdr\((\S+)\)/g)].map(([, header]) => header)
  assert.deepEqual(named, ID_HEADERS)
})

test('while the database is away, callers get the answer of Gantry, and no page of HAProxy', async (t) => {
  const { server, proxy, call } = await openBehindProxy(t)
  assert.equal((await call('before')).status, 202)
  await server.stop()
  await until('both are down', 30_000, async () => {
    await assertUnavailable(call)
    return (await proxy.countUp()) === 0
  })
  await assertUnavailable(call)
  await server.start()
  await until('a call is accepted', 30_000, async () => (await call('after')).status === 202)
})

type Answer = { status: number; headers: Headers; text: string }

async function assertUnavailable(call: (delivery: string) => Promise<Answer>): Promise<void> {
  const { status, headers, text } = await call('away')
  assert.equal(status, 503, text)
  assert.equal(headers.get('retry-after'), '2')
  assert.match(text, /"code":"(unavailable|outcome_unknown)"/)
}
