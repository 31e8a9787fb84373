import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { suite, test } from 'node:test'
import { promisify } from 'node:util'
import type { HealthCheck } from '#platform/database/tables.ts'
import { askHttp, askTcp, isExpected, readHttpAnswer, type Tried } from './check-health.ts'

const run = promisify(execFile)

type HttpCheck = Extract<HealthCheck, { type: 'http' }>
const checkOf = (more: Partial<HttpCheck> = {}): HttpCheck => ({
  type: 'http',
  url: 'http://127.0.0.1:9/',
  expect_status: '200-299',
  expect_body: null,
  interval_seconds: 1,
  timeout_seconds: 1,
  within_seconds: 3,
  healthy_for_seconds: 0,
  ...more,
})

type Closer = { after(fn: () => void): void }

async function serve(t: Closer, listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** One try, by a real bash and curl. */
async function ask(more: Partial<HttpCheck>, environment: Record<string, string> = {}): Promise<Tried> {
  const check = checkOf(more)
  const { command, environment: values } = askHttp(check, check.timeout_seconds * 1_000)
  const env = { PATH: process.env.PATH, ...environment, ...values }
  const { stdout } = await run('/bin/bash', ['-c', command], { env, encoding: 'buffer', maxBuffer: 1 << 20 })
  return readHttpAnswer(stdout, check, 7)
}

suite('one try over HTTP', { concurrency: true }, () => {
  test('a good answer is healthy, and others name their status', async (t) => {
    const url = await serve(t, (request, response) => {
      response.writeHead(Number(request.url!.slice(1)), { connection: 'close' }).end('Fine')
    })
    const good = await ask({ url: `${url}/200` })
    assert.equal(good.isHealthy, true)
    assert.match(good.text, /^HTTP 200 in \d+ ms$/)
    const bad = await ask({ url: `${url}/503` })
    assert.equal(bad.isHealthy, false)
    assert.match(bad.text, /^HTTP 503 in \d+ ms$/)
    assert.equal((await ask({ url: `${url}/404`, expect_status: 404 })).isHealthy, true)
  })

  test('early hints are not the answer', async (t) => {
    const url = await serve(t, (_, response) => {
      response.writeEarlyHints({ link: '</a.css>; rel=preload' })
      response.end('Fine')
    })
    assert.match((await ask({ url, expect_body: 'Fine' })).text, /^HTTP 200/)
  })

  test('a redirect is named and not followed', async (t) => {
    let calls = 0
    const url = await serve(t, (_, response) => {
      calls++
      response.writeHead(302, { location: '/login?token=secret' }).end()
    })
    const tried = await ask({ url })
    assert.equal(tried.isHealthy, false)
    assert.match(tried.text, /^HTTP 302 in \d+ ms, redirects to \/login, which is not followed$/)
    assert.equal(calls, 1)
  })

  test('the body must contain the expected text', async (t) => {
    const url = await serve(t, (_, response) => response.end('{"status": "grün"}'))
    assert.equal((await ask({ url, expect_body: 'grün' })).isHealthy, true)
    const tried = await ask({ url, expect_body: 'ok' })
    assert.match(tried.text, /^HTTP 200 in \d+ ms, without the expected text in its body$/)
  })

  test('a body that drips ends at the timeout, and one without an end is cut off', async (t) => {
    const dripping = await serve(t, (_, response) => {
      const timer = setInterval(() => response.write('.'), 100)
      response.on('close', () => clearInterval(timer))
    })
    assert.deepEqual(await ask({ url: dripping }), {
      isHealthy: false,
      text: 'HTTP 200, but its body did not end within 1 s',
    })
    const chunk = Buffer.alloc(64 * 1024, 'x')
    const endless = await serve(t, (_, response) => {
      const more = () => {
        while (!response.destroyed && response.write(chunk));
      }
      response.on('drain', more)
      more()
    })
    assert.match((await ask({ url: endless })).text, /^HTTP 200 in \d+ ms$/)
  })

  test('no answer, no listener, no such name, and an answer that is not HTTP are named', async (t) => {
    const silent = await serve(t, () => {})
    assert.equal((await ask({ url: silent })).text, 'no answer within 1 s')
    assert.match((await ask({ url: 'http://127.0.0.1:9/' })).text, /^the connection was refused, or/)
    assert.match((await ask({ url: 'http://no-such-name.invalid/' })).text, /^the name of the host cannot/)
    const broken = await serve(t, ({ socket }) => socket.end('Hello'))
    assert.equal((await ask({ url: broken })).isHealthy, false)
  })

  test('neither proxies nor the shell touch the URL', async (t) => {
    const url = await serve(t, (request, response) => response.end(request.url))
    const proxy = {
      http_proxy: 'http://127.0.0.1:9',
      HTTP_PROXY: 'http://127.0.0.1:9',
      all_proxy: 'http://127.0.0.1:9',
    }
    const path = '/$(id)`id`[1-3]{a,b};&x=%22'
    const tried = await ask({ url: url + path, expect_body: path }, proxy)
    assert.equal(tried.isHealthy, true, tried.text)
  })

  test('a missing curl is named, and not tried again', async () => {
    const tried = await ask({}, { PATH: '/nowhere' })
    assert.equal(tried.isFinal, true)
    assert.match(tried.text, /^curl is not installed on this server/)
  })
})

test('a status is expected when it is the number, or in the range', () => {
  assert.ok(isExpected(204, 204) && isExpected(204, '204') && isExpected(200, '200-299'))
  assert.ok(isExpected(299, '200-299') && !isExpected(300, '200-299') && !isExpected(200, 204))
})

test('a TCP try connects to the loopback of the server', async (t) => {
  const url = await serve(t, () => {})
  const ask = ({ command, environment }: ReturnType<typeof askTcp>) =>
    run('/bin/bash', ['-c', command], { env: environment })
  await ask(askTcp(Number(new URL(url).port)))
  await assert.rejects(ask(askTcp(9)), { code: 1 })
})
