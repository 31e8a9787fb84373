import assert from 'node:assert/strict'
import { createServer, type Socket } from 'node:net'
import { test } from 'node:test'
import { createServer as createTlsServer, type TLSSocket } from 'node:tls'
import { createAddressGuard } from '#platform/addresses/guard.ts'
import { createHttpClient } from './client.ts'
import { makeCertificate } from './test-certificate.ts'
import { closed, http, listen, openReceiver, openSender, post } from './test-receivers.ts'

const PUBLIC = 'https://gantry.example'

test('a public Gantry connects to no spelling of a private address', async (t) => {
  const receiver = await openReceiver(t, (socket) => socket.write(http(200)))
  const sender = openSender(t, { baseUrl: PUBLIC })
  const hosts = `127.0.0.1 127.1 127.0.1 0x7f000001 0x7f.1 2130706433 0177.0.0.1 017700000001 127.0.0.1. 0 0.0.0.0
    ①②⑦.0.0.1 %31%32%37.0.0.1 127。0。0。1 localhost LOCALHOST [::1] [::] [0:0:0:0:0:0:0:1] [::127.0.0.1]
    [::ffff:127.0.0.1] [::ffff:7f00:1] [64:ff9b::127.0.0.1] [64:ff9b:1::7f00:1] [2002:7f00:1::] [fe80::1] [fc00::1]
    10.0.0.1 172.16.0.1 192.168.0.1 169.254.169.254 100.64.0.1 [fd00:ec2::254]`
  for (const host of hosts.split(/\s+/)) {
    const outcome = await sender.send(post(`http://${host}:${receiver.port}/`))
    assert.equal(outcome.kind, 'blocked', `${host}: ${JSON.stringify(outcome)}`)
  }
  assert.equal(receiver.connections.length, 0)
})

test('a metadata address is blocked, whatever is allowed', async (t) => {
  const sender = openSender(t, {
    allowTargets: ['0.0.0.0/0', '::/0', 'meta.example'],
    lookup: async () => ['169.254.169.254'],
  })
  for (const host of ['169.254.169.254', '[::ffff:a9fe:a9fe]', '2852039166', 'meta.example']) {
    const outcome = await sender.send(post(`http://${host}/latest`))
    assert.ok(outcome.kind === 'blocked')
    assert.match(outcome.message, /metadata/)
  }
})

test('a name that is public when checked and private when connected to is blocked', async (t) => {
  const receiver = await openReceiver(t, (socket) => socket.write(http(200)))
  const answers = [['93.184.216.34'], ['127.0.0.1']]
  const guard = createAddressGuard({
    allowTargets: [],
    baseUrl: () => PUBLIC,
    lookup: async () => answers.shift()!,
  })
  const sender = createHttpClient({ guard, userAgent: 'Gantry/test' })
  t.after(() => sender.close())
  assert.equal((await guard.check('rebind.example')).kind, 'allowed')
  const outcome = await sender.send(post(`http://rebind.example:${receiver.port}/`))
  assert.ok(outcome.kind === 'blocked')
  assert.equal(outcome.message, 'rebind.example (127.0.0.1) may not be reached: it is a loopback address.')
  assert.equal(outcome.ipAddress, null)
  assert.equal(receiver.connections.length, 0)
})

test('a name is looked up once for a connection, which uses the address that was checked', async (t) => {
  const receiver = await openReceiver(t, (socket) => socket.write(http(200)))
  let lookups = 0
  const lookup = async () => {
    lookups += 1
    return ['127.0.0.1']
  }
  const sender = openSender(t, { lookup })
  for (let n = 0; n < 3; n += 1) {
    const outcome = await sender.send(post(`http://receiver.example:${receiver.port}/`))
    assert.ok(outcome.kind === 'answered')
    assert.equal(outcome.ipAddress, '127.0.0.1')
  }
  assert.deepEqual([lookups, receiver.connections.length], [1, 1])
  assert.match(receiver.requests[0]!, new RegExp(`^host: receiver.example:${receiver.port}\r$`, 'm'))
})

test('a name is checked again for each new connection', async (t) => {
  const receiver = await openReceiver(t, (socket) => socket.end(http(200, '', 'connection: close')))
  const answers = [['127.0.0.1'], ['10.0.0.1']]
  const sender = openSender(t, { lookup: async () => answers.shift()! })
  const url = `http://receiver.example:${receiver.port}/`
  assert.equal((await sender.send(post(url))).kind, 'answered')
  assert.equal((await sender.send(post(url))).kind, 'blocked')
})

test('when one address of a name does not answer, the next one is tried', async (t) => {
  const receiver = await openReceiver(t, (socket) => socket.write(http(200)))
  const sender = openSender(t, { lookup: async () => ['::1', '127.0.0.1'] })
  const outcome = await sender.send(post(`http://both.example:${receiver.port}/`))
  assert.equal(outcome.kind, 'answered')
  assert.equal(outcome.ipAddress, '127.0.0.1')
})

test('a host that is allowed by name is reached at whatever address it has', async (t) => {
  const receiver = await openReceiver(t, (socket) => socket.write(http(200)))
  const lookup = async () => ['127.0.0.1']
  const sender = openSender(t, { baseUrl: PUBLIC, allowTargets: ['inside.example'], lookup })
  assert.equal((await sender.send(post(`http://inside.example:${receiver.port}/`))).kind, 'answered')
  assert.equal((await sender.send(post(`http://outside.example:${receiver.port}/`))).kind, 'blocked')
})

test('a proxy from the environment is not used', async (t) => {
  const proxy = await openReceiver(t, (socket) => socket.write(http(502)))
  const receiver = await openReceiver(t, (socket) => socket.write(http(200)))
  const before = process.env.http_proxy
  process.env.http_proxy = proxy.url
  t.after(() => {
    if (before === undefined) delete process.env.http_proxy
    else process.env.http_proxy = before
  })
  assert.equal((await openSender(t).send(post(receiver.url))).kind, 'answered')
  assert.equal(proxy.connections.length, 0)
})

test('an untrusted certificate is rejected, unless verification is off', async (t) => {
  const names: (string | false | null)[] = []
  const connections: Socket[] = []
  const server = createTlsServer(makeCertificate('receiver.example'), (socket: TLSSocket) => {
    names.push(socket.servername)
    socket.on('error', () => {})
    socket.on('data', () => socket.write(http(200, 'ok')))
  })
  server.on('connection', (socket) => connections.push(socket))
  const port = await listen(t, server, connections)
  const sender = openSender(t, { lookup: async () => ['127.0.0.1'] })
  const url = `https://receiver.example:${port}/`
  for (let n = 0; n < 2; n += 1) {
    const trusting = await sender.send(post(url, { verifySsl: false }))
    assert.ok(trusting.kind === 'answered')
    const verifying = await sender.send(post(url))
    assert.ok(verifying.kind === 'unreachable')
    assert.equal(verifying.message, 'The certificate of receiver.example is not trusted: it is self-signed.')
    assert.equal(verifying.ipAddress, '127.0.0.1')
  }
  assert.equal(names[0], 'receiver.example')
})

test('a receiver that does not speak TLS is unreachable, and a silent one times out', async (t) => {
  const plain = await openReceiver(t, (socket) => socket.write(http(200)))
  const talking: Socket[] = []
  const talker = createServer((socket) => {
    talking.push(socket.on('error', () => {}))
    socket.on('data', () => socket.end(http(400)))
  })
  const port = await listen(t, talker, talking)
  const sender = openSender(t)
  const outcome = await sender.send(post(`https://127.0.0.1:${port}/`))
  assert.ok(outcome.kind === 'unreachable')
  assert.match(outcome.message, /could not agree on TLS/)
  const silent = await sender.send(post(`https://127.0.0.1:${plain.port}/`, { timeoutMs: 400 }))
  assert.equal(silent.kind, 'timed-out')
  await sender.close()
  for (const socket of plain.connections) await closed(socket)
})
