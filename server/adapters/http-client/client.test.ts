import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { closed, http, openReceiver, openSender, post } from './test-receivers.ts'

test('a request arrives as intended, and the response comes back', async (t) => {
  const receiver = await openReceiver(t, (socket) => socket.write(http(201, 'made', 'x-one: 1', 'x-one: 2')))
  const headers = {
    'content-type': 'application/json',
    'X-Name': 'Zoë',
    Host: 'elsewhere',
    Connection: 'close',
  }
  const outcome = await openSender(t).send(post(`${receiver.url}a/b?c=d#e`, { method: 'PUT', headers }))
  assert.equal(outcome.kind, 'answered')
  assert.ok(outcome.kind === 'answered')
  assert.equal(outcome.status, 201)
  assert.equal(outcome.body.toString(), 'made')
  assert.deepEqual(outcome.headers['x-one'], ['1', '2'])
  assert.equal(outcome.retryAfter, null)
  assert.equal(outcome.ipAddress, '127.0.0.1')
  assert.ok(outcome.durationMs >= 0)
  const request = receiver.requests[0]!
  assert.match(request, /^PUT \/a\/b\?c=d HTTP\/1.1\r\n/)
  assert.match(request, new RegExp(`^host: 127.0.0.1:${receiver.port}\r$`, 'm'))
  assert.match(request, /^user-agent: Gantry\/test\r$/m)
  assert.match(request, /^content-type: application\/json\r$/m)
  assert.match(Buffer.from(request, 'latin1').toString(), /^X-Name: Zoë\r$/m)
  assert.match(request, /\r\n\r\n\{"a":1\}$/)
  assert.doesNotMatch(request, /elsewhere|accept-encoding|connection: close/i)
})

test('a request without a body is sent without one', async (t) => {
  const receiver = await openReceiver(t, (socket) => socket.write(http(200)))
  const outcome = await openSender(t).send(post(receiver.url, { method: 'GET', headers: {}, body: null }))
  assert.equal(outcome.kind, 'answered')
  assert.match(receiver.requests[0]!, /^GET \/ HTTP/)
  assert.doesNotMatch(receiver.requests[0]!, /content-length: [1-9]/)
})

test('every status is a response, and Retry-After is passed on as it came', async (t) => {
  const receiver = await openReceiver(t, (socket, request) =>
    socket.write(http(Number(/\/(\d+)/.exec(request)![1]), '', 'retry-after: 120')),
  )
  const sender = openSender(t)
  for (const status of [200, 204, 400, 410, 429, 500, 503]) {
    const outcome = await sender.send(post(`${receiver.url}${status}`))
    assert.ok(outcome.kind === 'answered')
    assert.deepEqual([outcome.status, outcome.retryAfter], [status, '120'])
  }
})

test('a redirect is a response and is not followed', async (t) => {
  const target = await openReceiver(t, (socket) => socket.write(http(200)))
  const receiver = await openReceiver(t, (socket) => socket.write(http(301, '', `location: ${target.url}`)))
  const outcome = await openSender(t).send(post(receiver.url))
  assert.ok(outcome.kind === 'answered')
  assert.equal(outcome.status, 301)
  assert.equal(target.connections.length, 0)
})

test('early hints are not the response', async (t) => {
  const hints = 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'
  const receiver = await openReceiver(t, (socket) => socket.write(hints + hints + http(200, 'ok')))
  const outcome = await openSender(t).send(post(receiver.url))
  assert.ok(outcome.kind === 'answered')
  assert.deepEqual([outcome.status, outcome.body.toString(), outcome.headers.link], [200, 'ok', undefined])
})

test('ten requests one after the other use one connection', async (t) => {
  const receiver = await openReceiver(t, (socket) => socket.write(http(200, 'ok')))
  const sender = openSender(t)
  for (let n = 0; n < 10; n += 1) assert.equal((await sender.send(post(receiver.url))).kind, 'answered')
  assert.equal(receiver.requests.length, 10)
  assert.equal(receiver.connections.length, 1)
})

test('a connection that the receiver closed while idle is replaced', async (t) => {
  const receiver = await openReceiver(t, (socket) => socket.write(http(200, 'ok')))
  const sender = openSender(t)
  assert.equal((await sender.send(post(receiver.url))).kind, 'answered')
  receiver.connections[0]!.end()
  await closed(receiver.connections[0]!)
  assert.equal((await sender.send(post(receiver.url))).kind, 'answered')
  assert.equal(receiver.connections.length, 2)
})

test('five hundred requests at once all arrive, over a bounded number of connections', async (t) => {
  const warnings: Error[] = []
  const warn = (warning: Error) => warnings.push(warning)
  process.on('warning', warn)
  t.after(() => process.off('warning', warn))
  const receiver = await openReceiver(t, (socket) => socket.write(http(200, 'ok')))
  const sender = openSender(t)
  const { signal } = new AbortController()
  const sends = Array.from({ length: 500 }, (_, n) => sender.send(post(`${receiver.url}${n}`), signal))
  const outcomes = await Promise.all(sends)
  assert.ok(outcomes.every((outcome) => outcome.kind === 'answered' && outcome.ipAddress === '127.0.0.1'))
  assert.equal(new Set(receiver.requests.map((request) => request.split(' ')[1])).size, 500)
  assert.ok(receiver.connections.length <= 65, String(receiver.connections.length))
  assert.deepEqual(warnings, [])
})

test('only the beginning of a long response is read', async (t) => {
  const receiver = await openReceiver(t, (socket) => socket.write(http(200, 'x'.repeat(2_000_000))))
  const outcome = await openSender(t).send(post(receiver.url))
  assert.ok(outcome.kind === 'answered')
  assert.deepEqual([outcome.status, outcome.body.length], [200, 20 * 1024])
  await closed(receiver.connections[0]!)
})

test('an endless response is still a response', async (t) => {
  const chunk = `4000\r\n${'y'.repeat(0x4000)}\r\n`
  const receiver = await openReceiver(t, (socket) => {
    socket.write('HTTP/1.1 500 No\r\ntransfer-encoding: chunked\r\n\r\n')
    const pour = () => {
      while (!socket.destroyed && socket.write(chunk));
    }
    socket.on('drain', pour)
    pour()
  })
  const outcome = await openSender(t).send(post(receiver.url))
  assert.ok(outcome.kind === 'answered')
  assert.deepEqual([outcome.status, outcome.body.length], [500, 20 * 1024])
  await closed(receiver.connections[0]!)
})

test('a compressed response is stored as it came, however large it would become', async (t) => {
  const bomb = gzipSync(Buffer.alloc(10_000_000))
  assert.ok(bomb.length < 16 * 1024)
  const head = `HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: ${bomb.length}\r\n\r\n`
  const receiver = await openReceiver(t, (socket) => socket.write(Buffer.concat([Buffer.from(head), bomb])))
  const outcome = await openSender(t).send(post(receiver.url))
  assert.ok(outcome.kind === 'answered')
  assert.deepEqual(outcome.body, bomb)
})

test('what cannot be sent is blocked, and the message contains no secret', async (t) => {
  const receiver = await openReceiver(t, (socket) => socket.write(http(200)))
  const sender = openSender(t)
  const requests = [
    post('ftp://127.0.0.1/'),
    post('not an address'),
    post(`http://me:s3cret@127.0.0.1:${receiver.port}/`),
    post(receiver.url, { headers: { authorization: 's3cret\r\nx-evil: 1' } }),
    post(receiver.url, { headers: { 'bad name': 's3cret' } }),
    post(receiver.url, { headers: { a: 's3cret', A: 's3cret' } }),
    post(receiver.url, { method: 'PO ST' }),
  ]
  for (const request of requests) {
    const outcome = await sender.send(request)
    assert.ok(outcome.kind === 'blocked', JSON.stringify(outcome))
    assert.doesNotMatch(outcome.message, /s3cret/)
  }
  assert.equal(receiver.requests.length, 0)
})
