import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { createSecretBox } from './secret-box.ts'

const AAD = 'hooks/1/secret'

test('a sealed value opens with the same additional data', () => {
  const box = createSecretBox([randomBytes(32)])
  for (const plain of ['', 'secret', 'ä€😀', 'x'.repeat(100_000)]) {
    assert.equal(box.open(box.seal(plain, AAD), AAD), plain)
  }
})

test('the same secret sealed twice looks different', () => {
  const box = createSecretBox([randomBytes(32)])
  assert.notDeepEqual(box.seal('secret', AAD), box.seal('secret', AAD))
})

test('a sealed value does not show its secret', () => {
  const sealed = createSecretBox([randomBytes(32)]).seal('a very plain secret', AAD)
  assert.equal(sealed.includes('plain'), false)
})

test('a sealed value cannot be moved to another row or column', () => {
  const box = createSecretBox([randomBytes(32)])
  const sealed = box.seal('secret', AAD)
  for (const aad of ['hooks/2/secret', 'hooks/1/url_token', '']) assert.throws(() => box.open(sealed, aad))
})

test('a sealed value with any byte changed is rejected', () => {
  const box = createSecretBox([randomBytes(32)])
  const sealed = box.seal('secret', AAD)
  for (let index = 0; index < sealed.length; index++) {
    const changed = Buffer.from(sealed)
    changed[index]! ^= 1
    assert.throws(() => box.open(changed, AAD), `byte ${index}`)
  }
})

test('a sealed value that was truncated or extended is rejected', () => {
  const box = createSecretBox([randomBytes(32)])
  const sealed = box.seal('secret', AAD)
  for (let length = 0; length < sealed.length; length++) {
    assert.throws(() => box.open(sealed.subarray(0, length), AAD), `length ${length}`)
  }
  assert.throws(() => box.open(Buffer.concat([sealed, Buffer.of(0)]), AAD))
})

test('after a rotation the old key still opens, and the new one seals', () => {
  const [older, newer] = [randomBytes(32), randomBytes(32)]
  const before = createSecretBox([older]).seal('secret', AAD)
  const rotated = createSecretBox([newer, older])
  assert.equal(rotated.open(before, AAD), 'secret')
  assert.equal(createSecretBox([newer]).open(rotated.seal('secret', AAD), AAD), 'secret')
})

test('an error about a missing key names the sealed value', () => {
  const sealed = createSecretBox([randomBytes(32)]).seal('secret', AAD)
  assert.throws(() => createSecretBox([randomBytes(32)]).open(sealed, AAD), {
    message: 'hooks/1/secret was sealed with a key that this process does not have',
  })
})
