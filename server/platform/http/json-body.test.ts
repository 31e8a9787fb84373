import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MAX_DEPTH, parseJsonBody } from './json-body.ts'

const parse = (text: string) => parseJsonBody(Buffer.from(text))
const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)

test('every kind of JSON value is parsed', () => {
  for (const value of [null, true, 0, -1.5, '', 'ä€😀', [], {}, { a: [{ b: null }] }]) {
    assert.deepEqual(parse(JSON.stringify(value)), { kind: 'parsed', value })
  }
})

test('a body that is empty or only white space says so', () => {
  for (const text of ['', ' \r\n\t']) {
    assert.deepEqual(parse(text), {
      kind: 'malformed',
      message: 'The body is empty; send a JSON value.',
    })
  }
})

test('text that is almost JSON is malformed', () => {
  for (const text of ['{', '{"a":1,}', "{'a':1}", '{"a":1}{}', 'NaN', '[1 2]', '{"a":\u00011}', '\ufeff{}']) {
    const parsed = parse(text)
    assert.ok(parsed.kind === 'malformed', text)
    assert.match(parsed.message, /^The body is not valid JSON: line 1, column \d: .+\.$/, text)
  }
})

test('bytes that are not UTF-8 are malformed', () => {
  const wrong = [
    [0x22, 0xff, 0x22],
    [0x22, 0xc0, 0x80, 0x22],
    [0x22, 0xed, 0xa0, 0x80, 0x22],
    [0xff, 0xfe, 0x7b],
  ]
  for (const bytes of wrong) {
    assert.deepEqual(parseJsonBody(Buffer.from(bytes)), {
      kind: 'malformed',
      message: 'The body is not valid UTF-8.',
    })
  }
})

test('nesting is accepted up to the limit and rejected one level further', () => {
  assert.equal(parse(nested(MAX_DEPTH)).kind, 'parsed')
  const tooDeep = { kind: 'malformed', message: 'The body is nested deeper than 64 levels.' }
  assert.deepEqual(parse(nested(MAX_DEPTH + 1)), tooDeep)
  assert.deepEqual(parse(`${'{"a":'.repeat(MAX_DEPTH + 1)}1${'}'.repeat(MAX_DEPTH + 1)}`), tooDeep)
})

test('half a megabyte of brackets is rejected without a stack overflow', () => {
  assert.equal(parse(nested(500_000)).kind, 'malformed')
})

test('a key named __proto__ is rejected at any depth, even when escaped', () => {
  for (const text of ['{"__proto__":{}}', '{"a":[{"__proto__":1}]}', '{"\\u005f_proto__":1}']) {
    assert.deepEqual(parse(text), { kind: 'malformed', message: 'The body has a key named __proto__.' })
  }
})

test('keys that only look dangerous are data', () => {
  for (const text of ['{"constructor":1}', '{"toString":{"prototype":2}}', '{"hasOwnProperty":null}']) {
    assert.deepEqual(parse(text), { kind: 'parsed', value: JSON.parse(text) })
  }
})

test('U+0000 and lone surrogates are reported with the path of their field', () => {
  const nul = 'must not contain the character U+0000'
  const half = 'must not contain half of a surrogate pair'
  const cases: [string, string, string][] = [
    ['"\\u0000"', 'body', nul],
    ['{"a":"x\\u0000"}', 'a', nul],
    ['{"a":{"b":["fine",{"c":"\\ud800"}]}}', 'a.b.1.c', half],
    ['["\\udc00\\ud800"]', '0', half],
    ['{"\\u0000":1}', 'body', `has a key that ${nul}`],
    ['{"a":[{"\\ud800":1}]}', 'a.0', `has a key that ${half}`],
  ]
  for (const [text, field, message] of cases) {
    assert.deepEqual(parse(text), { kind: 'unstorable', field, message }, text)
  }
})

test('a complete surrogate pair is a valid character', () => {
  assert.deepEqual(parse('"\\ud83d\\ude00"'), { kind: 'parsed', value: '😀' })
})

test('the path of an error is truncated, however long the keys are', () => {
  const answer = parse(JSON.stringify({ ['k'.repeat(5000)]: '\0' }))
  assert.equal(answer.kind === 'unstorable' && answer.field.length, 256)
})
