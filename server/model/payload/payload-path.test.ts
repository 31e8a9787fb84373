import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parsePath } from './payload-path.ts'

const keysOf = (text: string) => {
  const parsed = parsePath(text)
  return parsed.kind === 'path' ? parsed.keys : parsed.message
}

test('dots separate keys, and digits are keys too', () => {
  assert.deepEqual(keysOf('a.b.0.c'), ['a', 'b', '0', 'c'])
  assert.deepEqual(keysOf('ref'), ['ref'])
})

test('brackets hold any key or an index', () => {
  assert.deepEqual(keysOf('a["x.y"]'), ['a', 'x.y'])
  assert.deepEqual(keysOf(`a['it"s'].b[3][0]`), ['a', 'it"s', 'b', '3', '0'])
  assert.deepEqual(keysOf('["a \\" b"]'), ['a " b'])
})

test('a backslash takes the next character as it is', () => {
  assert.deepEqual(keysOf('a\\.b.c'), ['a.b', 'c'])
  assert.deepEqual(keysOf('a\\[0\\]'), ['a[0]'])
  assert.deepEqual(keysOf('a\\\\b'), ['a\\b'])
})

test('a fault says what is wrong and where', () => {
  assert.equal(keysOf(''), 'is empty')
  assert.equal(keysOf('a.'), 'ends with a dot')
  assert.equal(keysOf('.a'), 'has an empty name at character 1')
  assert.equal(keysOf('a..b'), 'has an empty name at character 3')
  assert.equal(keysOf('a]b'), 'has a "]" without "[", at character 2')
  assert.equal(keysOf('a[b]'), 'has a bracket that is not like ["key"] or [0], at character 2')
  assert.equal(keysOf('a[0]b'), 'has something between "]" and the next dot, at character 5')
  assert.equal(keysOf('a\\'), 'ends with a backslash')
  assert.equal(keysOf('a'.repeat(513)), 'is longer than 512 characters')
})

test('any list of keys can be written as a path and is read back the same', () => {
  const anyKeys = fc.array(fc.string({ maxLength: 20, unit: 'grapheme' }), { minLength: 1, maxLength: 8 })
  fc.assert(
    fc.property(anyKeys, (keys) => {
      const text = keys.map((key) => `["${key.replaceAll(/["\\]/g, '\\$&')}"]`).join('')
      assert.deepEqual(keysOf(text), keys)
    }),
  )
})

test('any text gives a path or a fault, never an exception', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const parsed = parsePath(text)
      return parsed.kind === 'fault' ? parsed.message.length > 0 : parsed.keys.length > 0
    }),
  )
})
