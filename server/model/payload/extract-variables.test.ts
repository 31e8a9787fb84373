import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type CompiledVariable, extractVariables } from './extract-variables.ts'
import { parsePath } from './payload-path.ts'

const variable = (name: string, more: Partial<CompiledVariable> = {}): CompiledVariable => {
  const path = more.path ?? name
  const parsed = parsePath(path)
  assert.equal(parsed.kind, 'path')
  const keys = parsed.kind === 'path' ? parsed.keys : []
  return { name, path, keys, type: 'string', required: false, defaultValue: null, ...more }
}
const extract = (text: string, ...declared: CompiledVariable[]) =>
  extractVariables(declared, JSON.parse(text), text)

test('each variable gets the value at its path', () => {
  const extracted = extract(
    '{"ref":"main","commits":[{"id":7,"tags":["a"]}],"x.y":true}',
    variable('branch', { path: 'ref' }),
    variable('commit', { path: 'commits.0.id', type: 'integer' }),
    variable('tags', { path: 'commits.0.tags', type: 'array' }),
    variable('flag', { path: '["x.y"]', type: 'boolean' }),
  )
  const variables = { branch: 'main', commit: 7, tags: ['a'], flag: true }
  assert.deepEqual(extracted, { kind: 'variables', variables })
})

test('missing and null are absent: the default applies, otherwise it is an error or unset', () => {
  const declared = [
    variable('a', { defaultValue: 'default', required: true }),
    variable('b', { defaultValue: 0, type: 'integer' }),
    variable('c'),
  ]
  for (const text of ['{}', '{"a":null,"b":null,"c":null}', '[]', '"x"', 'null'])
    assert.deepEqual(
      extract(text, ...declared),
      { kind: 'variables', variables: { a: 'default', b: 0 } },
      text,
    )
  assert.deepEqual(extract('{"a":null}', variable('a', { path: 'a.b', required: true })), {
    kind: 'invalid',
    errors: { a: ['is required, but the payload has no value at a.b'] },
  })
})

test('an empty string, 0, false and an empty array are present', () => {
  const extracted = extract(
    '{"a":"","b":0,"c":false,"d":[]}',
    variable('a', { required: true, defaultValue: 'default' }),
    variable('b', { required: true, type: 'integer', defaultValue: 5 }),
    variable('c', { required: true, type: 'boolean', defaultValue: true }),
    variable('d', { required: true, type: 'array', defaultValue: [1] }),
  )
  assert.deepEqual(extracted, { kind: 'variables', variables: { a: '', b: 0, c: false, d: [] } })
})

test('all errors are reported at once, and a default does not replace an invalid value', () => {
  const extracted = extract(
    '{"b":"x","c":[]}',
    variable('a', { required: true }),
    variable('b', { type: 'integer', defaultValue: 5 }),
    variable('c', { path: 'c', type: 'boolean' }),
    variable('d'),
  )
  assert.equal(extracted.kind, 'invalid')
  const errors = extracted.kind === 'invalid' ? extracted.errors : {}
  assert.deepEqual(Object.keys(errors), ['a', 'b', 'c'])
  assert.match(errors.b![0]!, /^at b: expected an integer/)
  assert.equal(errors.c![0], 'at c: expected true or false, found an array of 0')
})

test('a number read as a string is exactly what the sender wrote', () => {
  const numbers = [
    '12345678901234567890',
    '1.10',
    '-0',
    '1e400',
    '0.1000000000000000055',
    '1E+2',
    '9007199254740993',
  ]
  for (const number of numbers) {
    const text = `{"list": [[0, {"n": ${number}}]], "n": 1}`
    assert.deepEqual(extract(text, variable('n', { path: 'list.0.1.n' })), {
      kind: 'variables',
      variables: { n: number },
    })
  }
})

test('of duplicate keys the last one wins, also for the exact text of a number', () => {
  const extracted = extract('{"n":1.0,"n":2.0}', variable('n'))
  assert.deepEqual(extracted, { kind: 'variables', variables: { n: '2.0' } })
})

test('many exact numbers of a large payload cost one more parse, not one each', () => {
  const text = `{"list":[${Array.from({ length: 20_000 }, (_, n) => `${n}.0`).join()}]}`
  const declared = Array.from({ length: 100 }, (_, n) => variable(`n${n}`, { path: `list.${n}` }))
  const payload = JSON.parse(text)
  const timed = (variables: CompiledVariable[]) => {
    const from = process.cpuUsage()
    const extracted = extractVariables(variables, payload, text)
    assert.equal(extracted.kind === 'variables' && extracted.variables.n0, '0.0')
    return process.cpuUsage(from).user
  }
  timed(declared.slice(0, 1))
  const one = timed(declared.slice(0, 1))
  assert.ok(timed(declared) < 20 * one)
})

test('names with a meaning in JavaScript are ordinary names', () => {
  const text = '{"__proto__":"a","constructor":"b","toString":{"x":"c"}}'
  const names = ['__proto__', 'constructor']
  const found = extract(
    text,
    ...names.map((name) => variable(name)),
    variable('toString', { path: 'toString.x' }),
  )
  assert.ok(found.kind === 'variables')
  assert.deepEqual(Object.entries(found.variables), [
    ['__proto__', 'a'],
    ['constructor', 'b'],
    ['toString', 'c'],
  ])
  const absent = extract('{}', ...names.map((name) => variable(name, { required: true })))
  assert.ok(absent.kind === 'invalid', 'they are not found where nobody sent them')
  assert.deepEqual(Object.keys(absent.errors), names)
})
