import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { describeJsonError, findJsonError } from './json-error.ts'

test('an error comes with its line and column, and with what was expected there', () => {
  const cases: [string, string, RegExp][] = [
    ['{', '1:2', /property name in double quotes, or "}"/],
    ['{"a":1,}', '1:8', /a comma must not come before "}"/],
    ["{\n  'a': 1\n}", '2:3', /property name in double quotes/],
    ['{"a" 1}', '1:6', /":" after the property name/],
    ['{"a":1}\n{}', '2:1', /end of the body/],
    ['{"a": NaN}', '1:7', /a value/],
    ['[1 2]', '1:4', /"," or "\]"/],
    ['[1,]', '1:4', /a value/],
    ['[01]', '1:3', /"," or "\]"/],
    ['{"a":\r\n"b', '2:1', /no closing quote/],
    ['["ä😀\t"]', '1:5', /must be escaped/],
    ['["\\x"]', '1:3', /escape/],
    ['\ufeff{}', '1:1', /byte order mark/],
    ['{"a":[{"b":1}}', '1:14', /"," or "\]"/],
  ]
  for (const [text, position, expected] of cases) {
    const [, line, column, message] = /^line (\d+), column (\d+): (.*)$/.exec(describeJsonError(text)) ?? []
    assert.equal(`${line}:${column}`, position, text)
    assert.match(message!, expected, text)
  }
})

test('nothing of the text is repeated', () => {
  for (const text of [
    '{"password": hunter2}',
    '{"token": "hunter2',
    'hunter2',
    '{"a":1} hunter2',
    '{hunter2:1}',
  ])
    assert.doesNotMatch(describeJsonError(text), /hunter/)
})

test('exactly the texts that JSON.parse rejects have an error', () => {
  const pieces = fc.constantFrom(
    ...'{}[],:"\\ \n0123456789.eE+-tfnu\u0001ä😀',
    'true',
    'null',
    '"a"',
    '\\u00e4',
    '"b":',
  )
  const broken = fc.tuple(fc.json(), fc.nat(), fc.nat(3), pieces).map(([text, at, length, piece]) => {
    const from = at % (text.length + 1)
    return text.slice(0, from) + piece + text.slice(from + length)
  })
  const random = fc.array(pieces, { maxLength: 12 }).map((parts) => parts.join(''))
  fc.assert(
    fc.property(fc.oneof(broken, random), (text) => {
      let valid = true
      try {
        JSON.parse(text)
      } catch {
        valid = false
      }
      assert.equal(findJsonError(text) === undefined, valid, text)
    }),
    { numRuns: 3_000 },
  )
})

test('a hundred thousand brackets take neither long nor the stack', () => {
  const startedAt = performance.now()
  assert.match(describeJsonError('['.repeat(100_000)), /line 1, column 100001/)
  assert.match(describeJsonError('"\\'.repeat(50_000)), /escape/)
  assert.ok(performance.now() - startedAt < 2_000)
})

test('a text that anybody can send to keep the process busy is not searched', () => {
  assert.match(describeJsonError(`[${'1,'.repeat(60_000)}x`), /^line 1, column 120002: /)
  assert.equal(
    describeJsonError(`[${'1,'.repeat(500_000)}x`),
    'the position of an error is shown in up to 128 KiB',
  )
})
