import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { test } from 'node:test'
import type { SendOutcome } from './client.ts'
import { closed, http, openReceiver, openSender, post } from './test-receivers.ts'

/** Soon, and yet long after a request on loopback has arrived, on a busy machine too. */
const SHORT_MS = 1_000

function failure(outcome: SendOutcome): { kind: string; message: string; ipAddress: string | null } {
  assert.ok(outcome.kind !== 'answered', 'it was answered')
  const { kind, message, ipAddress } = outcome
  return { kind, message, ipAddress }
}

test('a connection to a closed port is refused', async (t) => {
  const outcome = await openSender(t).send(post('http://127.0.0.1:9/'))
  assert.deepEqual(failure(outcome), {
    kind: 'unreachable',
    message: '127.0.0.1:9 refused the connection.',
    ipAddress: '127.0.0.1',
  })
})

test('an unknown name is unreachable', async (t) => {
  const sender = openSender(t, { lookup: async () => [] })
  assert.deepEqual(failure(await sender.send(post('http://nobody.example/'))), {
    kind: 'unreachable',
    message: 'The name nobody.example cannot be resolved.',
    ipAddress: null,
  })
})

const closings: [string, (socket: Socket) => void, RegExp][] = [
  [
    'closes the connection before an answer',
    (socket) => socket.end(),
    /closed the connection before it responded/,
  ],
  [
    'resets the connection before an answer',
    (socket) => socket.resetAndDestroy(),
    /closed the connection before it responded/,
  ],
  [
    'closes the connection in the middle of the body',
    (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf'),
    /in the middle of its response/,
  ],
  [
    'resets the connection in the middle of the body',
    (socket) => {
      socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n', () =>
        socket.resetAndDestroy(),
      )
    },
    /in the middle of its response|before it answered/,
  ],
  ['speaks something else than HTTP', (socket) => socket.end('220 mail.example ESMTP\r\n'), /not valid HTTP/],
  [
    'sends a broken chunk',
    (socket) => socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n'),
    /not valid HTTP/,
  ],
  [
    'switches to another protocol',
    (socket) => socket.write('HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'),
    /not valid HTTP/,
  ],
]
for (const [what, answer, message] of closings) {
  test(`a receiver that ${what} is unreachable`, async (t) => {
    const receiver = await openReceiver(t, answer)
    const { kind, message: given, ipAddress } = failure(await openSender(t).send(post(receiver.url)))
    assert.equal(kind, 'unreachable')
    assert.match(given, message)
    assert.equal(ipAddress, '127.0.0.1')
  })
}

test('endless headers are rejected', async (t) => {
  const receiver = await openReceiver(t, (socket) => {
    socket.write('HTTP/1.1 200 OK\r\n')
    const pour = () => {
      while (!socket.destroyed && socket.write(`x-more: ${'z'.repeat(1000)}\r\n`));
    }
    socket.on('drain', pour)
    pour()
  })
  const { kind, message } = failure(await openSender(t).send(post(receiver.url)))
  assert.deepEqual([kind, message], ['unreachable', 'The response headers are longer than 16 KiB.'])
})

test('a silent receiver times out, and its connection is closed', async (t) => {
  const receiver = await openReceiver(t, () => {})
  const outcome = await openSender(t).send(post(receiver.url, { timeoutMs: SHORT_MS }))
  assert.deepEqual(failure(outcome), {
    kind: 'timed-out',
    message: 'No response after 1 s.',
    ipAddress: '127.0.0.1',
  })
  assert.ok(outcome.durationMs >= SHORT_MS - 5)
  await closed(receiver.connections[0]!)
})

test('a receiver that drips its response times out', async (t) => {
  const receiver = await openReceiver(t, (socket) => {
    socket.write('HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n')
    const drip = setInterval(() => socket.write('.'), 20)
    socket.on('close', () => clearInterval(drip))
  })
  const { kind, message } = failure(await openSender(t).send(post(receiver.url, { timeoutMs: SHORT_MS })))
  assert.deepEqual([kind, message], ['timed-out', 'The response was not complete after 1 s.'])
})

test('a lookup that never ends times out', async (t) => {
  const sender = openSender(t, { lookup: () => new Promise(() => {}) })
  const outcome = await sender.send(post('http://slow.example/', { timeoutMs: SHORT_MS }))
  assert.equal(failure(outcome).kind, 'timed-out')
})

test('a request that times out while it waited for a connection is never sent', async (t) => {
  const receiver = await openReceiver(t, (socket, request) => {
    if (request.startsWith('POST /last ')) socket.write(http(200))
  })
  const sender = openSender(t)
  const stopper = new AbortController()
  const before = Array.from({ length: 65 }, () => sender.send(post(receiver.url), stopper.signal))
  const waiting = Array.from({ length: 20 }, () =>
    sender.send(post(`${receiver.url}waiting`, { timeoutMs: SHORT_MS })),
  )
  for (const outcome of await Promise.all(waiting)) {
    const { kind, ipAddress } = failure(outcome)
    assert.deepEqual([kind, ipAddress], ['timed-out', null])
  }
  stopper.abort()
  await Promise.all(before)
  assert.equal((await sender.send(post(`${receiver.url}last`))).kind, 'answered')
  assert.ok(!receiver.requests.some((request) => request.includes('waiting')))
  assert.ok(receiver.connections.length <= 66, String(receiver.connections.length))
})

test('one receiver that hangs does not delay another', async (t) => {
  const hanging = await openReceiver(t, () => {})
  const quick = await openReceiver(t, (socket) => socket.write(http(200)))
  const sender = openSender(t)
  const slow = Array.from({ length: 100 }, () => sender.send(post(hanging.url)))
  assert.equal((await sender.send(post(quick.url))).kind, 'answered')
  await sender.close()
  for (const outcome of await Promise.all(slow))
    assert.deepEqual(
      [failure(outcome).kind, failure(outcome).message],
      ['unreachable', 'Gantry is stopping.'],
    )
})

test('requests of one sharer that hang do not delay those of others to the same origin', async (t) => {
  const receiver = await openReceiver(t, (socket, request) => {
    if (!request.startsWith('POST /hangs ')) socket.write(http(200))
  })
  const sender = openSender(t)
  for (const sharer of ['one', 'another', 'a third'])
    for (let n = 0; n < 100; n += 1) void sender.send(post(`${receiver.url}hangs`, { sharer }))
  const quick = Array.from({ length: 200 }, () => sender.send(post(receiver.url, { sharer: 'quick' })))
  assert.ok((await Promise.all(quick)).every(({ kind }) => kind === 'answered'))
  assert.ok(receiver.connections.length <= 87, String(receiver.connections.length))
})

test('a signal aborts a request, and an aborted one keeps it from being sent', async (t) => {
  const stopper = new AbortController()
  const receiver = await openReceiver(t, () => stopper.abort())
  const sender = openSender(t)
  assert.equal(
    failure(await sender.send(post(receiver.url), stopper.signal)).message,
    'The request was aborted.',
  )
  assert.equal(failure(await sender.send(post(receiver.url), stopper.signal)).kind, 'unreachable')
  assert.equal(receiver.requests.length, 1)
})

test('nothing is sent after closing, and closing twice does no harm', async (t) => {
  const receiver = await openReceiver(t, (socket) => socket.write(http(200)))
  const sender = openSender(t)
  await sender.close()
  await sender.close()
  assert.deepEqual(failure(await sender.send(post(receiver.url))), {
    kind: 'unreachable',
    message: 'Gantry is stopping.',
    ipAddress: null,
  })
  assert.equal(receiver.connections.length, 0)
})
