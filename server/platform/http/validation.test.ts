import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type TSchema, Type } from 'typebox'
import { Exactly, Id, named, ref, Uuid, Word } from './schemas.ts'
import { createValidatorCompiler, type ErrorsByField, errorsByField } from './validation.ts'

const item = named('Item', Exactly({ name: Type.String({ minLength: 2, maxLength: 4 }) }))
const compile = createValidatorCompiler([item])

type Checked = { value: unknown } | { errors: ErrorsByField }

function check(httpPart: 'body' | 'querystring', schema: TSchema, value: unknown): Checked {
  const checked = compile({ schema, httpPart })(value)
  return 'error' in checked ? { errors: errorsByField(checked.error) } : checked
}

const body = (schema: TSchema, value: unknown) => check('body', schema, value)
const query = (schema: TSchema, value: unknown) => check('querystring', schema, value)

test('every error of a body is reported under its dotted path', () => {
  const schema = Exactly({
    id: Id,
    kind: Word(['a', 'b'] as const),
    items: Type.Array(ref(item), { minItems: 1 }),
    more: Type.Optional(Exactly({ flag: Type.Boolean() })),
  })
  const wrong = { id: 0, kind: 'c', items: [{ name: 'x' }, { name: 'abcde', nam: 1 }], more: {}, extra: 1 }
  assert.deepEqual(body(schema, wrong), {
    errors: {
      extra: ['is not recognized; expected: id, kind, items, more'],
      id: ['must be 1 or more'],
      kind: ['must be one of: a, b'],
      'items.0.name': ['must have 2 characters or more'],
      'items.1.nam': ['is not recognized; expected: name'],
      'items.1.name': ['must have 4 characters or fewer'],
      'more.flag': ['is required'],
    },
  })
})

test('each kind of error has its own message', () => {
  const cases: [TSchema, unknown, string][] = [
    [Type.String(), 1, 'must be a string'],
    [Type.Integer(), 1.5, 'must be an integer'],
    [Type.Unsafe({ type: ['string', 'null'] }), 1, 'must be a string or null'],
    [Type.String({ minLength: 1 }), '', 'must not be empty'],
    [Type.Integer({ maximum: 3 }), 4, 'must be 3 or less'],
    [Type.Array(Type.Integer(), { minItems: 1 }), [], 'must have 1 item or more'],
    [Type.Array(Type.Integer(), { minItems: 2 }), [1], 'must have 2 items or more'],
    [Type.Array(Type.Integer(), { maxItems: 1 }), [1, 2], 'must have 1 item or fewer'],
    [Type.Array(Type.Integer(), { uniqueItems: true }), [1, 1], 'must not contain duplicates'],
    [Type.Literal('bearer'), 'x', 'must be "bearer"'],
    [Type.String({ pattern: '^a' }), 'b', 'must match ^a'],
    [Type.String({ pattern: '^a', 'x-hint': 'must begin with an a' }), 'b', 'must begin with an a'],
    [Uuid, 'x', 'must be a valid uuid'],
    [Type.Integer({ multipleOf: 2 }), 3, 'must be multiple of 2'],
  ]
  for (const [schema, value, message] of cases) {
    assert.deepEqual(body(Exactly({ field: schema }), { field: value }), { errors: { field: [message] } })
  }
})

test('errors of the whole body are under body', () => {
  for (const value of [null, [], 'text', 1]) {
    assert.deepEqual(body(Exactly({}), value), { errors: { body: ['must be an object'] } })
  }
})

test('a body is never coerced', () => {
  const schema = Exactly({
    n: Type.Optional(Type.Integer()),
    b: Type.Optional(Type.Boolean()),
    s: Type.Optional(Type.String()),
  })
  for (const value of [
    { n: '1' },
    { n: true },
    { n: null },
    { b: 'true' },
    { b: 1 },
    { s: null },
    { s: 1 },
  ]) {
    assert.ok('errors' in body(schema, value), JSON.stringify(value))
  }
})

test('no default is added to a body: an omitted field stays absent', () => {
  const schema = Exactly({ active: Type.Optional(Type.Boolean({ default: true })) })
  assert.deepEqual(body(schema, {}), { value: {} })
})

test('numbers and booleans in a URL are parsed, and defaults added', () => {
  const schema = Exactly({
    page: Type.Optional(Type.Integer({ default: 1 })),
    active: Type.Optional(Type.Boolean()),
    name: Type.Optional(Type.String()),
  })
  assert.deepEqual(query(schema, { active: 'false', name: '12' }), {
    value: { page: 1, active: false, name: '12' },
  })
  assert.deepEqual(query(schema, { page: '-7', active: 'true' }), { value: { page: -7, active: true } })
})

test('a number in a URL consists of plain digits', () => {
  const schema = Exactly({ id: Id })
  for (const id of ['', ' 1', '1 ', '+1', '01', '1.0', '1e0', '0x1', '0b1', '١', 'Infinity', 'null', '1,2']) {
    assert.deepEqual(query(schema, { id }), { errors: { id: ['must be an integer'] } }, id)
  }
  assert.deepEqual(query(schema, { id: '9007199254740991' }), { value: { id: 9_007_199_254_740_991 } })
  for (const id of ['9007199254740992', '9223372036854775808']) {
    assert.deepEqual(query(schema, { id }), { errors: { id: ['must be 9007199254740991 or less'] } })
  }
})

test('a boolean in a URL is true or false', () => {
  const schema = Exactly({ active: Type.Boolean() })
  for (const active of ['1', '0', 'TRUE', 'yes', '', 'null']) {
    assert.deepEqual(query(schema, { active }), { errors: { active: ['must be a boolean'] } }, active)
  }
})

test('a repeated parameter is rejected where one is expected', () => {
  assert.deepEqual(query(Exactly({ page: Type.Integer() }), { page: ['1', '2'] }), {
    errors: { page: ['must be an integer'] },
  })
})

test('the same message about a field is reported once', () => {
  const schema = Type.Unsafe<unknown>({
    type: 'object',
    properties: {
      v: { anyOf: [{ type: 'integer' }, { type: 'array', items: { type: 'integer' } }, { type: 'integer' }] },
    },
  })
  assert.deepEqual(body(schema, { v: 'x' }), { errors: { v: ['must be an integer', 'must be an array'] } })
})

test('a field named like a property of Object.prototype is reported as a field', () => {
  const { errors } = body(Exactly({}), JSON.parse('{"constructor":1,"__proto__":2,"toString":3}')) as {
    errors: ErrorsByField
  }
  assert.deepEqual(Object.keys(errors).sort(), ['__proto__', 'constructor', 'toString'])
  assert.equal(Object.getPrototypeOf(errors), Object.prototype)
})

test('a field name with a slash or a tilde is preserved', () => {
  const schema = Type.Record(Type.String(), Type.Integer())
  assert.deepEqual(Object.keys((body(schema, { 'a/b~c': 'x' }) as { errors: ErrorsByField }).errors), [
    'a/b~c',
  ])
})

test('a response to thousands of errors stays small', () => {
  const many = Object.fromEntries(
    Array.from({ length: 5_000 }, (_, index) => [`${'k'.repeat(500)}${index}`, 1]),
  )
  const { errors } = body(Exactly({}), many) as { errors: ErrorsByField }
  assert.ok(JSON.stringify(errors).length < 100_000)
})
