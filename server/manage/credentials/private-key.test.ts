import assert from 'node:assert/strict'
import { test } from 'node:test'
import { generateKey, readPrivateKey } from './private-key.ts'

test('every generated key can be parsed again', () => {
  for (let number = 0; number < 2_000; number += 1) {
    const { privateKey, publicKey } = generateKey()
    const read = readPrivateKey(privateKey)
    assert.equal(read.kind === 'key' && read.pair.publicKey, publicKey)
  }
})
