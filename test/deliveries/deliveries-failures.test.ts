import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { after, suite, type TestContext, test } from 'node:test'
import { createServer as createTlsServer } from 'node:tls'
import { gzipSync } from 'node:zlib'
import { makeCertificate } from '#adapters/http-client/test-certificate.ts'
import { http, listen, openReceiver as openRawReceiver } from '#adapters/http-client/test-receivers.ts'
import { IN_PROGRESS, openDeliveries, openReceiver } from '#test/support/deliveries.ts'
import { createTestTree } from '#test/support/world.ts'

const world = await openDeliveries({ after })
const { db, makeHook, move, startAction } = world

/** One delivery to this URL, after its first attempt. */
async function deliverOnce(url: string, more: object = {}) {
  const tree = await createTestTree(db)
  const hook = await makeHook({ target_url: url, settings: { timeout_seconds: 1 }, ...more }, tree)
  await move(await startAction(tree), IN_PROGRESS)
  const [record] = await world.recorded(hook.id, 1)
  const [delivery] = await world.deliveries(hook.id)
  return { hook, tree, record: record!, delivery: delivery! }
}

type Tried = Awaited<ReturnType<typeof deliverOnce>>

/** The delay between an attempt and the next one. */
function pauseAfter({ created_at, next_attempt_at }: Tried['record']): number | null {
  return next_attempt_at === null ? null : (Date.parse(next_attempt_at) - Date.parse(created_at)) / 1_000
}

/** `seconds` with a jitter of 20 %, and the time between two writes. */
function assertPause(record: Tried['record'], seconds: number): void {
  const pause = pauseAfter(record)!
  assert.ok(
    pause >= seconds * 0.8 - 0.1 && pause <= seconds * 1.2 + 0.1,
    `${pause} s, not about ${seconds} s`,
  )
}

function assertFailed(tried: Tried, expected: { outcome: string; error: RegExp }): void {
  const { record, delivery } = tried
  assert.equal(record.outcome, expected.outcome)
  assert.match(record.error!, expected.error)
  assert.equal(record.response_status_code, null)
  assert.equal(delivery.state, 'pending')
  assertPause(record, 5)
}

/** A receiver that responds with these bytes, whatever they are. */
const answering = (t: TestContext, bytes: string) => openRawReceiver(t, (socket) => socket.write(bytes))

suite('a delivery is retried after 5 s when its receiver', { concurrency: 6 }, () => {
  test('refuses connections', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as { port: number }
    server.close()
    await once(server, 'close')
    const tried = await deliverOnce(`http://127.0.0.1:${port}/`)
    assertFailed(tried, { outcome: 'unreachable', error: /127\.0\.0\.1:\d+ refused the connection/ })
  })

  test('closes the connection in the middle of its response', async (t) => {
    const receiver = await openRawReceiver(t, (socket) =>
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nthe be', () => socket.resetAndDestroy()),
    )
    assertFailed(await deliverOnce(receiver.url), { outcome: 'unreachable', error: /closed the connection/ })
  })

  test('does not respond', async (t) => {
    const receiver = await openRawReceiver(t, () => {})
    const tried = await deliverOnce(receiver.url)
    assertFailed(tried, { outcome: 'timed_out', error: /No response after 1 s/ })
    assert.ok(tried.record.duration_ms! >= 900, `${tried.record.duration_ms}`)
  })

  test('responds one byte at a time', async (t) => {
    const receiver = await openRawReceiver(t, (socket) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n')
      const timer = setInterval(() => socket.write('x'), 100)
      socket.on('close', () => clearInterval(timer))
    })
    const tried = await deliverOnce(receiver.url)
    assertFailed(tried, { outcome: 'timed_out', error: /not complete after 1 s/ })
  })

  test('does not speak HTTP', async (t) => {
    const tried = await deliverOnce((await answering(t, 'SSH-2.0-OpenSSH_9.9\r\n\r\n')).url)
    assertFailed(tried, { outcome: 'unreachable', error: /not valid HTTP/ })
  })

  test('has an untrusted certificate, unless the hook disables verification', async (t) => {
    const sockets: Parameters<typeof listen>[2] = []
    const server = createTlsServer(makeCertificate('receiver.example'), (socket) => {
      sockets.push(socket.on('error', () => {}))
      socket.once('data', () => socket.write(http(200)))
    })
    server.on('tlsClientError', () => {})
    const url = `https://127.0.0.1:${await listen(t, server, sockets)}/`
    const patient = { settings: { timeout_seconds: 30 } }
    const tried = await deliverOnce(url, patient)
    assertFailed(tried, { outcome: 'unreachable', error: /certificate of 127\.0\.0\.1 is not trusted/ })
    const trusting = await deliverOnce(url, { verify_ssl: false, ...patient })
    assert.equal(trusting.record.outcome, 'delivered')
  })

  test('does not speak TLS at an https URL', async (t) => {
    const sockets: Parameters<typeof listen>[2] = []
    const server = createServer((socket) => {
      sockets.push(socket.on('error', () => {}))
      socket.write(http(400))
    })
    const tried = await deliverOnce(`https://127.0.0.1:${await listen(t, server, sockets)}/`)
    assertFailed(tried, { outcome: 'unreachable', error: /could not agree on TLS/ })
  })

  for (const status of [500, 503, 408, 425, 404, 409, 422]) {
    test(`returns ${status}`, async (t) => {
      const { record, delivery } = await deliverOnce((await answering(t, http(status, 'no'))).url)
      assert.equal(record.outcome, 'refused')
      assert.equal(record.response_status_code, status)
      assert.equal(record.response_body?.toString(), 'no')
      assert.equal(record.ip_address, '127.0.0.1')
      assert.equal(delivery.state, 'pending')
      assertPause(record, 5)
    })
  }
})

suite('a delivery', { concurrency: 6 }, () => {
  for (const status of [400, 401, 403, 405, 410, 413]) {
    test(`is not retried after ${status}`, async (t) => {
      const { record, delivery } = await deliverOnce((await answering(t, http(status))).url)
      assert.deepEqual([record.outcome, record.next_attempt_at, delivery.state], ['refused', null, 'failed'])
    })
  }

  test('does not follow redirects', async (t) => {
    const elsewhere = await openReceiver(t)
    const receiver = await answering(t, http(301, '', `location: ${elsewhere.url}/`))
    const { record, delivery } = await deliverOnce(receiver.url)
    assert.deepEqual([record.outcome, record.next_attempt_at, delivery.state], ['redirected', null, 'failed'])
    assert.equal(record.response_status_code, 301)
    assert.equal(elsewhere.arrivals.length, 0)
  })

  test('honors Retry-After, up to an hour', async (t) => {
    const asking = (answer: string) => answering(t, http(429, '', `retry-after: ${answer}`))
    const short = await deliverOnce((await asking('120')).url)
    assert.ok(Math.abs(pauseAfter(short.record)! - 120) < 1)
    const long = await deliverOnce((await asking('999999')).url)
    assert.ok(Math.abs(pauseAfter(long.record)! - 3_600) < 1)
    const nonsense = await deliverOnce((await asking('soon')).url)
    assertPause(nonsense.record, 5)
  })

  test('stores 16 KiB of a huge response and does not wait for the rest', async (t) => {
    const head = 'HTTP/1.1 200 OK\r\ncontent-length: 2097152\r\n\r\n'
    const receiver = await answering(t, head + 'y'.repeat(1_500_000))
    const { record } = await deliverOnce(receiver.url)
    assert.deepEqual([record.outcome, record.response_body?.length], ['delivered', 16 * 1024])
  })

  test('stores a compressed response unchanged', async (t) => {
    const bomb = gzipSync(Buffer.alloc(5_000_000))
    const receiver = await openReceiver(t)
    receiver.behave((_, response) => response.setHeader('content-encoding', 'gzip').end(bomb))
    const { record } = await deliverOnce(receiver.url)
    assert.equal(record.outcome, 'delivered')
    assert.deepEqual(record.response_body, bomb.subarray(0, 16 * 1024))
  })
})

suite('a receiver that never recovers', () => {
  test('gets ten attempts within a day, each recorded, before the delivery fails', async (t) => {
    const receiver = await answering(t, http(500))
    const { hook, tree } = await deliverOnce(receiver.url)
    const [delivery] = await world.exhaust(hook.id)
    assert.deepEqual([delivery!.state, delivery!.attempts], ['failed', 10])
    const records = await world.requests(hook.id)
    assert.deepEqual(
      records.map(({ attempt }) => attempt),
      [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
    )
    const pauses = [5, 30, 120, 600, 1_800, 3_600, 10_800, 21_600, 43_200]
    for (const [index, pause] of pauses.entries()) assertPause(records[index]!, pause)
    assert.equal(records[9]!.next_attempt_at, null)
    assert.equal(records[0]!.retry_of, null)
    assert.ok(records.slice(1).every(({ retry_of }) => retry_of === records[0]!.id))
    const shown = await world.request('GET', `/hook-requests/${records[9]!.id}`, { token: tree.owner.token })
    const { outcome, attempt, next_attempt_at, response_status_code } = shown.body
    assert.deepEqual([outcome, attempt, next_attempt_at, response_status_code], ['refused', 10, null, 500])
  })

  test('gets two more attempts when it returns 404', async (t) => {
    const receiver = await answering(t, http(404))
    const { hook } = await deliverOnce(receiver.url)
    const [delivery] = await world.exhaust(hook.id)
    assert.deepEqual([delivery!.state, delivery!.attempts], ['failed', 3])
    const records = await world.requests(hook.id)
    assertPause(records[1]!, 30)
    assert.equal(records[2]!.next_attempt_at, null)
  })

  test('gets the delivery when it recovers in between', async (t) => {
    const receiver = await openReceiver(t)
    receiver.answer(500)
    const { hook } = await deliverOnce(receiver.url)
    receiver.answer(204)
    const [delivery] = await world.exhaust(hook.id)
    assert.deepEqual([delivery!.state, delivery!.attempts], ['delivered', 2])
    const [first, second] = receiver.arrivals
    assert.equal(first!.headers['webhook-id'], second!.headers['webhook-id'])
    assert.deepEqual(first!.json.event, second!.json.event)
  })
})
