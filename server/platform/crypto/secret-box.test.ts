import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { createSecretBox } from './secret-box.ts'

const PLACE = 'hooks/1/secret'

test('a sealed value opens with the same additional data', () => {
  const box = createSecretBox([randomBytes(32)])
  for (const plain of ['', 'secret', 'ä€😀', 'x'.repeat(100_000)]) {
    assert.equal(box.open(box.seal(plain, PLACE), PLACE), plain)
  }
})

test('the same secret sealed twice looks different', () => {
  const box = createSecretBox([randomBytes(32)])
  assert.notDeepEqual(box.seal('secret', PLACE), box.seal('secret', PLACE))
})

test('a sealed value does not show its secret', () => {
  const sealed = createSecretBox([randomBytes(32)]).seal('a very plain secret', PLACE)
  assert.equal(sealed.includes('plain'), false)
})

test('a sealed value cannot be moved to another row or column', () => {
  const box = createSecretBox([randomBytes(32)])
  const sealed = box.seal('secret', PLACE)
  for (const place of ['hooks/2/secret', 'hooks/1/url_token', ''])
    assert.throws(() => box.open(sealed, place))
})

test('a sealed value with any byte changed is rejected', () => {
  const box = createSecretBox([randomBytes(32)])
  const sealed = box.seal('secret', PLACE)
  for (let index = 0; index < sealed.length; index++) {
    const changed = Buffer.from(sealed)
    changed[index]! ^= 1
    assert.throws(() => box.open(changed, PLACE), `byte ${index}`)
  }
})

test('a sealed value that was truncated or extended is rejected', () => {
  const box = createSecretBox([randomBytes(32)])
  const sealed = box.seal('secret', PLACE)
  for (let length = 0; length < sealed.length; length++) {
    assert.throws(() => box.open(sealed.subarray(0, length), PLACE), `length ${length}`)
  }
  assert.throws(() => box.open(Buffer.concat([sealed, Buffer.of(0)]), PLACE))
})

test('after a rotation the old key still opens, and the new one seals', () => {
  const [older, newer] = [randomBytes(32), randomBytes(32)]
  const before = createSecretBox([older]).seal('secret', PLACE)
  const rotated = createSecretBox([newer, older])
  assert.equal(rotated.open(before, PLACE), 'secret')
  assert.equal(createSecretBox([newer]).open(rotated.seal('secret', PLACE), PLACE), 'secret')
})

test('an error about a missing key names the sealed value', () => {
  const sealed = createSecretBox([randomBytes(32)]).seal('secret', PLACE)
  assert.throws(() => createSecretBox([randomBytes(32)]).open(sealed, PLACE), {
    message: 'hooks/1/secret was sealed with a key that this process does not have',
  })
})
