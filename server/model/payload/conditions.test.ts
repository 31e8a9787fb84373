import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type CompiledCondition, sameJson, unmetCondition } from './conditions.ts'

const condition = (path: string, ...acceptedValues: unknown[]): CompiledCondition => ({
  path,
  keys: path.split('.'),
  acceptedValues,
})
const unmet = (payload: unknown, ...conditions: CompiledCondition[]) =>
  unmetCondition(conditions, payload)?.path

test('all conditions must match, and the first that does not is returned', () => {
  const payload = { ref: 'main', repository: { id: 7 }, list: [1, { a: null }] }
  assert.equal(unmet(payload), undefined)
  assert.equal(unmet(payload, condition('ref', 'dev', 'main'), condition('repository.id', 7)), undefined)
  assert.equal(unmet(payload, condition('ref', 'dev'), condition('repository.id', 8)), 'ref')
  assert.equal(unmet(payload, condition('ref', 'main'), condition('repository.id', 8)), 'repository.id')
  assert.equal(unmet(payload, condition('list', [1, { a: null }])), undefined)
})

test('values are compared exactly: a string is not a number, 0 is not false', () => {
  const pairs: [unknown, unknown][] = [
    [7, '7'],
    [0, false],
    ['', null],
    ['Main', 'main'],
    [[1], [1, 2]],
    [
      [1, 2],
      [2, 1],
    ],
    [[], {}],
    [{ a: 1 }, { a: 1, b: 2 }],
    [{ a: 1 }, { b: 1 }],
    [[[]], [{}]],
    [{ '0': 1 }, [1]],
  ]
  for (const [found, accepted] of pairs) {
    assert.equal(unmet({ x: found }, condition('x', accepted)), 'x', JSON.stringify([found, accepted]))
    assert.equal(unmet({ x: accepted }, condition('x', found)), 'x', JSON.stringify([accepted, found]))
  }
})

test('a missing value never matches, whatever is accepted', () => {
  for (const payload of [{}, [], null, 'x', { a: {} }])
    assert.equal(unmet(payload, condition('a.b', null, '', 0, false, [], {}, undefined)), 'a.b')
  assert.equal(unmet({}, condition('constructor', {}), condition('__proto__', {})), 'constructor')
})

const canonical = (value: unknown): string =>
  JSON.stringify(value, (_key, one) =>
    typeof one === 'object' && one !== null && !Array.isArray(one)
      ? Object.fromEntries(Object.entries(one).sort(([a], [b]) => (a < b ? -1 : 1)))
      : one,
  )
const anyJson = fc.jsonValue({ maxDepth: 4 }).map((value) => JSON.parse(JSON.stringify(value)))

test('two values are equal when their canonical JSON is', () => {
  const small = fc.letrec((tie) => ({
    any: fc.oneof(
      { maxDepth: 3 },
      fc.constantFrom(null, 0, 1, '', '0', 'a', true),
      tie('list'),
      tie('object'),
    ),
    list: fc.array(tie('any'), { maxLength: 2 }),
    object: fc.dictionary(fc.constantFrom('a', 'b', '0', '__proto__'), tie('any'), { maxKeys: 2 }),
  })).any
  fc.assert(
    fc.property(fc.oneof(fc.tuple(anyJson, anyJson), fc.tuple(small, small)), ([one, other]) => {
      assert.equal(sameJson(one, other), canonical(one) === canonical(other))
    }),
    { numRuns: 1000 },
  )
})

test('a value equals its copy with reordered keys', () => {
  const reversed = (value: unknown): unknown => {
    if (typeof value !== 'object' || value === null) return value
    if (Array.isArray(value)) return value.map(reversed)
    return Object.fromEntries(
      Object.entries(value)
        .reverse()
        .map(([key, child]) => [key, reversed(child)]),
    )
  }
  fc.assert(fc.property(anyJson, (value) => sameJson(value, reversed(value))))
})
