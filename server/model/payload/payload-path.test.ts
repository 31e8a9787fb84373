import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parsePath, readPath } from './payload-path.ts'

const keysOf = (text: string) => {
  const parsed = parsePath(text)
  return parsed.kind === 'path' ? parsed.keys : parsed.message
}

test('dots separate keys, and digits are keys too', () => {
  assert.deepEqual(keysOf('a.b.0.c'), ['a', 'b', '0', 'c'])
  assert.deepEqual(keysOf('ref'), ['ref'])
})

test('brackets contain any key or an index', () => {
  assert.deepEqual(keysOf('a["x.y"]'), ['a', 'x.y'])
  assert.deepEqual(keysOf(`a['it"s'].b[3][0]`), ['a', 'it"s', 'b', '3', '0'])
  assert.deepEqual(keysOf('["a \\" b"]'), ['a " b'])
})

test('a backslash escapes the next character', () => {
  assert.deepEqual(keysOf('a\\.b.c'), ['a.b', 'c'])
  assert.deepEqual(keysOf('a\\[0\\]'), ['a[0]'])
  assert.deepEqual(keysOf('a\\\\b'), ['a\\b'])
})

test('an error says what is wrong and where', () => {
  assert.equal(keysOf(''), 'is empty')
  assert.equal(keysOf('a.'), 'ends with a dot')
  assert.equal(keysOf('.a'), 'has an empty name at character 1')
  assert.equal(keysOf('a..b'), 'has an empty name at character 3')
  assert.equal(keysOf('a]b'), 'has a "]" without "[", at character 2')
  assert.equal(keysOf('a[b]'), 'has a bracket that is not like ["key"] or [0], at character 2')
  assert.equal(keysOf('a[0]b'), 'has text between "]" and the next dot, at character 5')
  assert.equal(keysOf('a\\'), 'ends with a backslash')
  assert.equal(keysOf('a'.repeat(513)), 'is longer than 512 characters')
})

test('any list of keys survives writing and parsing', () => {
  const anyKeys = fc.array(fc.string({ maxLength: 20, unit: 'grapheme' }), { minLength: 1, maxLength: 8 })
  fc.assert(
    fc.property(anyKeys, (keys) => {
      const text = keys.map((key) => `["${key.replaceAll(/["\\]/g, '\\$&')}"]`).join('')
      assert.deepEqual(keysOf(text), keys)
    }),
  )
})

test('any string gives a path or an error, never an exception', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const parsed = parsePath(text)
      return parsed.kind === 'invalid' ? parsed.message.length > 0 : parsed.keys.length > 0
    }),
  )
})

const payload = JSON.parse(
  '{"a":{"b":[{"c":1},[2,3]]},"list":[0,null,false],"0":"zero","":"nameless","x.y":5,"__proto__":{"own":6}}',
)

test('keys select from objects, digits from arrays', () => {
  assert.equal(readPath(payload, ['a', 'b', '0', 'c']), 1)
  assert.equal(readPath(payload, ['a', 'b', '1', '1']), 3)
  assert.equal(readPath(payload, ['0']), 'zero', 'a number is a key on an object')
  assert.equal(readPath(payload, ['']), 'nameless')
  assert.equal(readPath(payload, ['x.y']), 5)
  assert.equal(readPath(payload, []), payload)
})

test('null, false and 0 are found; a missing value is undefined', () => {
  assert.deepEqual(
    ['0', '1', '2'].map((index) => readPath(payload, ['list', index])),
    [0, null, false],
  )
  const nowhere = [['b'], ['a', 'b', '2'], ['a', 'b', '0', 'c', 'd'], ['list', '1', 'x'], ['a', 'b', '-1']]
  nowhere.push(
    ['list', '00'],
    ['list', '01'],
    ['list', '1.0'],
    ['list', ''],
    ['list', '99999999999'],
    ['x', 'y'],
  )
  for (const keys of nowhere) assert.equal(readPath(payload, keys), undefined, keys.join('/'))
})

test('only own properties count', () => {
  const inherited = [
    ['constructor'],
    ['toString'],
    ['a', 'hasOwnProperty'],
    ['list', 'length'],
    ['list', 'map'],
  ]
  inherited.push(['0', 'length'], ['0', '0'], ['__proto__', 'toString'], ['a', '__proto__'])
  for (const keys of inherited) assert.equal(readPath(payload, keys), undefined, keys.join('/'))
  assert.equal(readPath(payload, ['__proto__', 'own']), 6)
  assert.equal(readPath(JSON.parse('{"constructor":7}'), ['constructor']), 7)
})

/** Every place in a value, with the path to it. */
function places(value: unknown, keys: string[] = []): [string[], unknown][] {
  if (typeof value !== 'object' || value === null) return [[keys, value]]
  const children = Object.entries(value).flatMap(([key, child]) => places(child, [...keys, key]))
  return [[keys, value], ...children]
}

const anyJson = fc.jsonValue({ maxDepth: 5 }).map((value) => JSON.parse(JSON.stringify(value)))

test('every value of any JSON is found at its path', () => {
  fc.assert(
    fc.property(anyJson, (value) => {
      for (const [keys, expected] of places(value)) assert.equal(readPath(value, keys), expected)
    }),
  )
})

test('for any path the result equals that of a naive reader', () => {
  const names = fc.constantFrom('a', 'b', '0', '1', '2', '01', '', 'length', '__proto__', 'constructor')
  const tree = fc.letrec((tie) => ({
    any: fc.oneof({ maxDepth: 4 }, fc.constantFrom(null, 0, 'x', true), tie('list'), tie('object')),
    list: fc.array(tie('any'), { maxLength: 3 }),
    object: fc.dictionary(names, tie('any'), { maxKeys: 4 }),
  })).any
  fc.assert(
    fc.property(tree, fc.array(names, { maxLength: 5 }), (made, keys) => {
      const value = JSON.parse(JSON.stringify(made))
      const naive = new Map(places(value).map(([path, found]) => [JSON.stringify(path), found]))
      assert.equal(readPath(value, keys), naive.get(JSON.stringify(keys)))
    }),
    { numRuns: 500 },
  )
})
