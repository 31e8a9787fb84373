import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { createSshGuard } from './ssh-guard.ts'

/** In every notation that a system resolver accepts, and as IPv6 that carries it. */
const LOOPBACK = `127.0.0.1 127.8.9.10 2130706433 0x7f000001 0x7f.1 0177.0.0.1 127.1 ::1 ::ffff:127.0.0.1 ::ffff:7f00:1
  ::127.0.0.1 64:ff9b::7f00:1 64:ff9b::127.0.0.1 2002:7f00:1:: localhost LOCALHOST localhost. a.localhost`
const NEVER = `169.254.169.254 169.254.0.1 169.254.170.2 2852039166 0xa9fea9fe 0251.0376.0251.0376 169.16689662
  ::ffff:169.254.169.254 ::ffff:a9fe:a9fe ::169.254.169.254 64:ff9b::a9fe:a9fe 2002:a9fe:a9fe:: fe80::1 febf::1
  fd00:ec2::254 fd00:ec2::23 fd20:ce::254 100.100.100.200 168.63.129.16 192.0.0.192 0.0.0.0 0 :: 224.0.0.1 ff02::1
  255.255.255.255 64:ff9b:1::7f00:1 ::ffff:0:7f00:1 2001::1`
const SERVERS = `93.184.216.34 2606:2800:220:1:248:1893:25c8:1946 10.1.2.3 172.16.0.1 192.168.1.1 100.64.0.1 fc00::1
  fd12:3456::1 ::ffff:10.0.0.1 167772161`

const words = (text: string) => text.split(/\s+/)

suite('over SSH', () => {
  const guard = createSshGuard({ targets: [] })

  test('public and private servers may be reached', async () => {
    for (const host of words(SERVERS)) {
      const verdict = await guard.check(host)
      assert.ok(verdict.kind === 'allowed' && !verdict.isLoopback, `${host}: ${JSON.stringify(verdict)}`)
    }
  })

  test('this machine is recognized, however it is written', async () => {
    for (const host of words(LOOPBACK)) {
      const verdict = await guard.check(host)
      assert.ok(verdict.kind === 'allowed' && verdict.isLoopback, `${host}: ${JSON.stringify(verdict)}`)
    }
  })

  test('link-local, metadata and other special addresses may not be reached, whatever is listed', async () => {
    const open = createSshGuard({ targets: ['0.0.0.0/0', '::/0'] })
    for (const host of words(NEVER)) {
      for (const one of [guard, open]) assert.equal((await one.check(host)).kind, 'refused', host)
    }
  })

  test('listed networks exclude all others, and do not open this machine', async () => {
    const restricted = createSshGuard({ targets: ['10.0.0.0/8', '198.51.100.7', '127.0.0.0/8'] })
    const kindOf = async (host: string) => (await restricted.check(host)).kind
    for (const host of ['10.1.2.3', '::ffff:10.1.2.3', '198.51.100.7'])
      assert.equal(await kindOf(host), 'allowed')
    for (const host of ['192.168.1.1', '93.184.216.34', '198.51.100.8', 'fd12::1'])
      assert.equal(await kindOf(host), 'refused')
    const loopback = await restricted.check('127.0.0.1')
    assert.ok(loopback.kind === 'allowed' && loopback.isLoopback)
    const { message } = (await restricted.check('192.168.1.1')) as { message: string }
    assert.match(message, /outside the networks of GANTRY_SSH_TARGETS/)
  })

  test('one address decides for a name with several, and the answer names exactly the checked ones', async () => {
    const answers = [['10.0.0.1', '10.0.0.2'], ['10.0.0.1', '169.254.169.254'], ['10.0.0.1', '127.0.0.1'], []]
    const resolving = createSshGuard({ targets: [], lookup: async () => answers.shift()! })
    const check = () => resolving.check('Web.Internal.')
    const [private_, metadata] = [await check(), await check()]
    assert.deepEqual(private_, {
      kind: 'allowed',
      addresses: ['10.0.0.1', '10.0.0.2'],
      isLoopback: false,
    })
    assert.equal(metadata.kind, 'refused')
    assert.match(
      metadata.kind === 'refused' ? metadata.message : '',
      /^web\.internal\. \(169\.254\.169\.254\)/,
    )
    const mixed = await check()
    assert.ok(mixed.kind === 'allowed' && mixed.isLoopback)
    assert.equal((await check()).kind, 'unreachable')
  })
})
