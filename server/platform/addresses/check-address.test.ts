import assert from 'node:assert/strict'
import test from 'node:test'
import ipaddr from 'ipaddr.js'
import { checkAddress } from './check-address.ts'
import { createAddressGuard } from './guard.ts'

const STRICT = { networks: [], loopback: false }
const kind = (address: string, rules: Parameters<typeof checkAddress>[1] = STRICT) =>
  checkAddress(address, rules).kind

test('public addresses are allowed', () => {
  for (const address of ['93.184.216.34', '2606:2800:220:1:248:1893:25c8:1946'])
    assert.equal(kind(address), 'allowed', address)
})

test('private, local and reserved addresses are rejected, in every notation', () => {
  const addresses = `127.0.0.1 127.1.2.3 10.0.0.1 172.16.0.1 192.168.1.1 169.254.1.1 100.64.0.1 0.0.0.0
    224.0.0.1 255.255.255.255 ::1 :: fe80::1 fc00::1 ff02::1 ::ffff:127.0.0.1 ::ffff:7f00:1 ::127.0.0.1
    64:ff9b::7f00:1 64:ff9b::10.0.0.1 2002:7f00:1:: 2002:a00:1:: 2130706433 0x7f000001 0177.0.0.1 127.1
    64:ff9b:1::7f00:1 ::ffff:0:7f00:1 2001::1 fec0::1 100::1 5f00::1 1::1 4000::1 fe00::1 192.0.0.1 198.18.0.1`
  for (const address of addresses.split(/\s+/)) assert.equal(kind(address), 'refused', address)
})

test('a metadata address is rejected whatever is allowed', () => {
  const everything = {
    networks: [ipaddr.parseCIDR('0.0.0.0/0'), ipaddr.parseCIDR('::/0')],
    loopback: true,
  }
  for (const address of ['169.254.169.254', '::ffff:169.254.169.254', 'fd00:ec2::254', '2852039166'])
    assert.equal(kind(address, everything), 'refused', address)
  assert.equal(kind('10.1.2.3', everything), 'allowed')
})

test('a guard allows loopback to a Gantry on loopback, and the targets in its settings', async () => {
  const guard = (baseUrl: string, ...allowTargets: string[]) =>
    createAddressGuard({ allowTargets, baseUrl: () => baseUrl })
  const verdict = async (one: ReturnType<typeof guard>, host: string) => (await one.check(host)).kind
  assert.equal(await verdict(guard('http://127.0.0.1:7070'), '127.0.0.1'), 'allowed')
  assert.equal(await verdict(guard('http://127.0.0.1:7070'), 'localhost'), 'allowed')
  assert.equal(await verdict(guard('https://gantry.example.com'), '127.0.0.1'), 'refused')
  assert.equal(await verdict(guard('https://gantry.example.com', '127.0.0.0/8'), '127.0.0.1'), 'allowed')
  assert.equal(await verdict(guard('https://gantry.example.com', 'localhost', '::1'), 'localhost'), 'allowed')
  assert.equal(await verdict(guard('https://gantry.example.com'), 'no-such-name.invalid'), 'unreachable')
})

test('concurrent lookups of a name share one', async () => {
  const lookedUp: string[] = []
  const guard = createAddressGuard({
    allowTargets: [],
    baseUrl: () => 'https://gantry.example.com',
    lookup: async (name) => {
      lookedUp.push(name)
      return ['93.184.216.34']
    },
  })
  const verdicts = await Promise.all(['one.example', 'one.example', 'two.example'].map(guard.check))
  assert.ok(verdicts.every(({ kind }) => kind === 'allowed'))
  assert.deepEqual(lookedUp, ['one.example', 'two.example'])
  await guard.check('one.example')
  assert.equal(lookedUp.length, 3)
})

test('a name is checked each time, and one private address among many is enough to reject it', async () => {
  const answers = [['93.184.216.34'], ['93.184.216.34', '10.0.0.1'], []]
  const guard = createAddressGuard({
    allowTargets: [],
    baseUrl: () => 'https://gantry.example.com',
    lookup: async () => answers.shift()!,
  })
  assert.deepEqual(await guard.check('a.example'), { kind: 'allowed', addresses: ['93.184.216.34'] })
  assert.equal((await guard.check('a.example')).kind, 'refused')
  assert.equal((await guard.check('a.example')).kind, 'unreachable')
})
