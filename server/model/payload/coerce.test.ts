import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { coerce, type VariableType } from './coerce.ts'

const TYPES: VariableType[] = ['string', 'integer', 'boolean', 'array']
const run = (type: VariableType, found: unknown) => coerce(type, found, () => JSON.stringify(found))
const assertValue = (type: VariableType, found: unknown, value: unknown) =>
  assert.deepEqual(run(type, found), { kind: 'value', value })
const errorOf = (type: VariableType, found: unknown) => {
  const coerced = run(type, found)
  assert.equal(coerced.kind, 'invalid', `${type} ${JSON.stringify(found)?.slice(0, 50)}`)
  return (coerced as Extract<typeof coerced, { kind: 'invalid' }>).message
}

suite('accepted values', () => {
  test('a string accepts strings, booleans, and numbers as the sender wrote them', () => {
    assertValue('string', 'x', 'x')
    assertValue('string', '', '')
    assertValue('string', true, 'true')
    assertValue('string', false, 'false')
    assertValue('string', 0, '0')
    const exact = coerce('string', 1.2345678901234567e19, () => '12345678901234567890')
    assert.deepEqual(exact, { kind: 'value', value: '12345678901234567890' })
  })

  test('an integer accepts integers and strings of digits', () => {
    const most = Number.MAX_SAFE_INTEGER
    for (const [found, value] of [
      [0, 0],
      [-5, -5],
      [1.0, 1],
      [most, most],
      [-most, -most],
      ['7', 7],
      ['-7', -7],
      ['007', 7],
      [String(most), most],
      [`-${most}`, -most],
    ])
      assertValue('integer', found, value)
  })

  test('an integer is never minus zero', () => {
    for (const found of [-0, '-0']) {
      const coerced = run('integer', found)
      assert.ok(coerced.kind === 'value' && Object.is(coerced.value, 0))
    }
  })

  test('a boolean accepts booleans and their names', () => {
    for (const found of [true, 'true']) assertValue('boolean', found, true)
    for (const found of [false, 'false']) assertValue('boolean', found, false)
  })

  test('an array accepts arrays unchanged', () => {
    for (const found of [[], [1, 'a', null, { b: [true] }]]) assertValue('array', found, found)
  })
})

suite('rejected values', () => {
  test('the error for another type contains types and sizes, never contents', () => {
    const wrong: Record<VariableType, unknown[]> = {
      string: [{}, [], { secret: 1 }],
      integer: [
        1.5,
        2 ** 53,
        -(2 ** 53),
        '1.0',
        '1e3',
        '',
        ' 1',
        '0x1',
        '+1',
        '9007199254740993',
        true,
        [],
        {},
      ],
      boolean: [0, 1, 'True', 'yes', '', [], {}],
      array: ['[]', 0, {}, true, { length: 0 }],
    }
    for (const type of TYPES) {
      for (const found of wrong[type]) assert.match(errorOf(type, found), /^expected .+, found .+$/)
    }
    assert.equal(errorOf('array', 'secret'), 'expected an array, found a string of 6 characters')
    assert.equal(errorOf('boolean', ['secret']), 'expected true or false, found an array of 1')
    assert.equal(
      errorOf('string', { secret: 1 }),
      'expected a string, a number or a boolean, found an object',
    )
    assert.match(
      errorOf('integer', 1.5),
      /^expected an integer, or a string of digits, between .+, found a number$/,
    )
  })

  test('the limit is 64 KiB, counted in bytes', () => {
    assertValue('string', 'x'.repeat(65_536), 'x'.repeat(65_536))
    assert.equal(errorOf('string', 'x'.repeat(65_537)), 'is longer than 64 KiB')
    assert.equal(errorOf('string', 'ä'.repeat(32_769)), 'is longer than 64 KiB')
    assert.equal(errorOf('array', ['x'.repeat(65_536)]), 'is longer than 64 KiB')
    assert.deepEqual(
      coerce('string', 1e300, () => '9'.repeat(65_537)),
      { kind: 'invalid', message: 'is longer than 64 KiB' },
    )
    assert.equal(errorOf('integer', '1'.repeat(70_000)).includes('70000 characters'), true)
  })

  test('U+0000 and lone surrogates are rejected, even deep inside arrays and in keys', () => {
    const zero = 'must not contain the character U+0000'
    const half = 'must not contain half of a surrogate pair'
    assert.equal(errorOf('string', 'a\0'), zero)
    assert.equal(errorOf('string', '\ud800'), half)
    assert.equal(errorOf('string', '\udc00\ud800'), half)
    assert.equal(errorOf('array', [[{ a: ['\0'] }]]), zero)
    assert.equal(errorOf('array', [{ '\ud800': 1 }]), half)
    assert.equal(errorOf('array', [null, null, '\0']), zero)
    assertValue('string', '\ud83d\ude00', '😀')
  })
})

test('any JSON and any type give a value of that type or an error, never an exception', () => {
  const anyText = fc.array(fc.nat(0xffff), { maxLength: 20 }).map((units) => String.fromCharCode(...units))
  const anyFound = fc.oneof(
    fc.jsonValue({ maxDepth: 4 }),
    fc.double(),
    fc.maxSafeInteger(),
    fc.bigInt().map(String),
    anyText,
    fc.array(anyText, { maxLength: 5 }),
  )
  const kept: Record<VariableType, (value: unknown) => boolean> = {
    string: (value) => typeof value === 'string' && value.isWellFormed() && !value.includes('\0'),
    integer: (value) => Number.isSafeInteger(value) && !Object.is(value, -0),
    boolean: (value) => typeof value === 'boolean',
    array: (value) => Array.isArray(value) && JSON.stringify(value).length <= 65_536,
  }
  fc.assert(
    fc.property(anyFound, fc.constantFrom(...TYPES), (found, type) => {
      const coerced = run(type, found)
      return coerced.kind === 'value' ? kept[type](coerced.value) : coerced.message.length > 0
    }),
    { numRuns: 300 },
  )
})

test('every safe integer is accepted, as a number and as a string', () => {
  fc.assert(
    fc.property(fc.maxSafeInteger(), (value) => {
      assertValue('integer', value, value + 0)
      assertValue('integer', String(value), value + 0)
    }),
  )
})

test('no unsafe integer is accepted, as a number or as a string', () => {
  const beyond = fc.bigInt({ min: BigInt(Number.MAX_SAFE_INTEGER) + 1n, max: 10n ** 40n })
  fc.assert(
    fc.property(beyond, fc.boolean(), (size, negative) => {
      const value = negative ? -size : size
      errorOf('integer', Number(value))
      errorOf('integer', String(value))
    }),
  )
})
