import assert from 'node:assert/strict'
import { test } from 'node:test'
import { networkOf } from './networks.ts'

test('addresses of one network are the same, others are not', () => {
  const networks: [string, string][] = [
    ['192.0.2.1', '192.0.2.0/24'],
    ['192.0.2.255', '192.0.2.0/24'],
    ['192.0.3.1', '192.0.3.0/24'],
    ['::ffff:192.0.2.1', '192.0.2.0/24'],
    ['127.0.1.1', '127.0.1.0/24'],
    ['2001:db8:0:1::1', '2001:db8:0::/48'],
    ['2001:DB8::ffff', '2001:db8:0::/48'],
    ['2001:db8:1::1', '2001:db8:1::/48'],
    ['::1', '0:0:0::/48'],
    ['fe80::1%eth0', 'fe80:0:0::/48'],
  ]
  for (const [address, network] of networks) assert.equal(networkOf(address), network, address)
})

test('what is no address stands for itself, within limits', () => {
  assert.equal(networkOf('unix socket'), 'unix socket')
  assert.equal(networkOf(''), 'unknown')
  assert.equal(networkOf('x'.repeat(10_000)).length, 64)
})
