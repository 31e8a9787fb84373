import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type Condition, compileCondition, describeUnmet, sameJson, unmetCondition } from './conditions.ts'

const condition = (path: string, ...accepted_values: unknown[]): Condition => ({ path, accepted_values })
const unmet = (payload: unknown, ...conditions: Condition[]) =>
  unmetCondition(conditions.map(compileCondition), { payload })?.label

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

const CALL = {
  payload: { ref: 'refs/heads/release/2', none: null, size: 3, empty: '', off: false, tags: ['a'] },
  headers: { 'x-event': 'push', 'x-list': ['a', 'b'], 'x-empty': '' },
}
const isMet = (one: Condition) => compileCondition(one).evaluate(CALL).isMet

test('each operator, and its reverse', () => {
  const met: Condition[] = [
    { path: 'size', equals: 3 },
    { path: 'none', equals: null },
    { path: 'tags', equals: ['a'] },
    { path: 'size', one_of: [2, 3] },
    { path: 'ref', matches: 'refs/heads/release/*' },
    { path: 'ref', matches: 'refs/{heads,tags}/**' },
    { path: 'ref', exists: true },
    { path: 'empty', exists: true },
    { path: 'off', exists: true },
    { path: 'none', exists: false },
    { path: 'absent', exists: false },
    { header: 'X-Event', equals: 'push' },
    { header: 'x-list', equals: 'a, b' },
    { header: 'X-Empty', exists: true },
    { header: 'X-Other', exists: false },
    { header: 'X-Event', accepted_values: ['pull', 'push'] },
  ]
  const others: Condition[] = [
    { path: 'size', equals: '3' },
    { path: 'absent', equals: null },
    { path: 'size', one_of: ['3'] },
    { path: 'ref', matches: 'refs/heads/*' },
    { path: 'size', matches: '3' },
    { path: 'absent', matches: '**' },
    { path: 'none', exists: true },
    { header: 'X-Other', matches: '**' },
    { header: 'constructor', exists: true },
  ]
  for (const one of met) {
    assert.ok(isMet(one), JSON.stringify(one))
    assert.ok(!isMet({ ...one, not: true }), `not ${JSON.stringify(one)}`)
  }
  for (const one of others) {
    assert.ok(!isMet(one), JSON.stringify(one))
    assert.ok(isMet({ ...one, not: true }), `not ${JSON.stringify(one)}`)
  }
})

test('one condition of a group must match', () => {
  const [wrong, right]: Condition[] = [
    { path: 'size', equals: 1 },
    { header: 'X-Event', equals: 'push' },
  ]
  assert.ok(isMet({ any_of: [wrong!, right!] }))
  assert.ok(!isMet({ any_of: [wrong!, { ...right, not: true }] }))
})

test('says which condition is not met, and why, without values of the call', () => {
  const explain = (one: Condition) => {
    const result = unmetCondition([compileCondition(one)], CALL)!
    return `${describeUnmet(result)}: ${result.reason}`
  }
  assert.deepEqual(
    [
      explain({ path: 'absent', equals: 1 }),
      explain({ header: 'X-Other', matches: 'a' }),
      explain({ path: 'ref', equals: 'main' }),
      explain({ path: 'ref', exists: false }),
      explain({ path: 'ref', exists: true, not: true }),
      explain({ path: 'size', one_of: [3], not: true }),
      explain({ path: 'ref', matches: '**', not: true }),
      explain({
        any_of: [
          { path: 'size', equals: 1 },
          { header: 'X-Event', equals: 'x' },
        ],
      }),
    ],
    [
      'the condition on absent is not met: The payload has no such value.',
      'the condition on header X-Other is not met: The call has no such header.',
      'the condition on ref is not met: The value is not an accepted one.',
      'the condition on ref is not met: The call has such a value.',
      'the condition on ref is not met: The call has such a value.',
      'the condition on size is not met: The value is an excluded one.',
      'the condition on ref is not met: The value matches the excluded pattern.',
      'no condition on size or header X-Event is met: No condition of the group is met.',
    ],
  )
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
