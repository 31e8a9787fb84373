import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fingerprint, formatHostKey, hostKeyAlgorithms, parseHostKey, readKnownHost } from './host-key.ts'

const ED25519 = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDEr3GdJ7BJmoLHslZi9WFRedElkyMy92b11/OCTImp/'
const FINGERPRINT = 'SHA256:v/FpwIq2Cew31IC/F/1IvcDdHtOhxOpY6pho/QKmeTc'

test('a host key survives parsing and formatting, and may carry a comment', () => {
  assert.equal(formatHostKey(parseHostKey(ED25519)!.blob), ED25519)
  assert.deepEqual(parseHostKey(` ${ED25519} root@server\n`), parseHostKey(ED25519))
})

test('text that is not a host key, or claims to be another type, is rejected', () => {
  const rubbish = [
    '',
    'ssh-ed25519',
    'ssh-ed25519 ????',
    ED25519.replace('ssh-ed25519', 'ssh-rsa'),
    ED25519.replace('ssh-ed25519', 'constructor'),
    'ssh-dss AAAAB3NzaC1kc3M=',
    'ssh-ed25519 AAAA',
  ]
  for (const text of rubbish) assert.equal(parseHostKey(text), null, text)
})

test('a fingerprint is the one that ssh-keygen shows', () => {
  assert.equal(fingerprint(parseHostKey(ED25519)!.blob), FINGERPRINT)
})

test('a host is known by its key, or by the fingerprint of it', () => {
  assert.deepEqual(readKnownHost(ED25519), { type: 'ssh-ed25519', fingerprint: FINGERPRINT })
  assert.deepEqual(readKnownHost(FINGERPRINT), { type: null, fingerprint: FINGERPRINT })
  for (const text of ['', 'SHA256:', `${FINGERPRINT}=`, FINGERPRINT.replace('SHA256', 'MD5')]) {
    assert.equal(readKnownHost(text), null, text)
  }
})

test('the known type comes first, obsolete signature algorithms never', () => {
  assert.equal(hostKeyAlgorithms(parseHostKey(ED25519))[0], 'ssh-ed25519')
  assert.deepEqual(hostKeyAlgorithms({ type: 'ssh-rsa' }).slice(0, 2), ['rsa-sha2-512', 'rsa-sha2-256'])
  assert.ok(!hostKeyAlgorithms(null).includes('ssh-rsa'))
  assert.deepEqual(hostKeyAlgorithms({ type: null }), hostKeyAlgorithms(null))
})
