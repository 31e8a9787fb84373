import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { depthOf, MAX_PAYLOAD_DEPTH, type ParsedPayload, parsePayload } from './parse-payload.ts'

const JSON_TYPE = 'application/json'
const FORM_TYPE = 'application/x-www-form-urlencoded'
const parse = (body: string | Buffer, type: string | undefined = JSON_TYPE) =>
  parsePayload(type, Buffer.from(body as string))
const messageOf = (parsed: ParsedPayload) => (parsed.kind === 'malformed' ? parsed.message : parsed.kind)
const payloadOf = (parsed: ParsedPayload) => {
  assert.equal(parsed.kind, 'parsed', messageOf(parsed))
  return (parsed as Extract<ParsedPayload, { kind: 'parsed' }>).value
}
const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)

suite('content types', () => {
  test('any JSON content type, and a body without a content type, are accepted', () => {
    const types = [
      JSON_TYPE,
      'Application/JSON; charset=utf-8',
      'application/vnd.github+json',
      ' application/json ',
    ]
    for (const type of [...types, 'application/cloudevents+json;v=1', '', undefined])
      assert.deepEqual(payloadOf(parsePayload(type, Buffer.from('{"a":1}'))), { a: 1 }, String(type))
  })

  test('any other content type is unsupported, whatever the body', () => {
    for (const type of [
      'text/plain',
      'application/xml',
      'multipart/form-data',
      'json',
      'application/jsonx',
      'x/json',
    ])
      assert.deepEqual(parse('{}', type), { kind: 'unsupported' }, type)
  })
})

suite('JSON', () => {
  test('every JSON value is a payload', () => {
    for (const text of ['{}', '[]', '0', '"x"', 'null', 'false', ' {"a" : [1, 2]}\n'])
      assert.deepEqual(payloadOf(parse(text)), JSON.parse(text))
  })

  test('invalid JSON is malformed, with a one-sentence message that says where', () => {
    const texts = [
      '{',
      '{"a":1,}',
      '[1,]',
      'NaN',
      'Infinity',
      '{a:1}',
      "{'a':1}",
      '1 2',
      '01',
      '"\n"',
      '// x\n{}',
    ]
    for (const text of [...texts, '\uFEFF{}', 'undefined', '{"a":1}}'])
      assert.match(messageOf(parse(text)), /^The body is not valid JSON: line 1, column \d: .+\.$/, text)
    assert.equal(
      messageOf(parse('{"ref": "main",\n "a": }')),
      'The body is not valid JSON: line 2, column 7: expected a value: an object, an array, a string in double quotes, a number, true, false or null.',
    )
    const form = new URLSearchParams({ payload: '{"a" 1}' }).toString()
    assert.equal(
      messageOf(parse(form, FORM_TYPE)),
      'The body is a form whose field named payload is not valid JSON: line 1, column 6: expected ":" after the property name.',
    )
    for (const text of ['', ' ', '\n\t', '\uFEFF']) assert.equal(messageOf(parse(text)), 'The body is empty.')
    for (const bytes of [[0xff], [0x22, 0xc3, 0x22], [0x22, 0xed, 0xa0, 0x80, 0x22], [0xfe, 0xff, 0, 0x7b]])
      assert.equal(messageOf(parse(Buffer.from(bytes))), 'The body is not valid UTF-8.')
  })

  test('the parsed text is returned as well', () => {
    assert.deepEqual(parse('{"n": 1.10}'), { kind: 'parsed', value: { n: 1.1 }, text: '{"n": 1.10}' })
  })

  test('keys that have a meaning in JavaScript are plain keys', () => {
    const value = payloadOf(parse('{"__proto__":{"x":1},"constructor":2}')) as Record<string, unknown>
    assert.deepEqual(Object.keys(value), ['__proto__', 'constructor'])
    assert.equal(({} as Record<string, unknown>).x, undefined)
  })

  test('any value survives a round trip', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 8 }), (value) => {
        const text = JSON.stringify(value)
        assert.deepEqual(payloadOf(parse(text)), JSON.parse(text))
      }),
    )
  })

  test('any bytes give a value or a reason, never an exception', () => {
    const types = fc.constantFrom(JSON_TYPE, FORM_TYPE, undefined, 'text/plain', ';', 'application/')
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), types, (bytes, type) => {
        assert.ok(parsePayload(type, Buffer.from(bytes)).kind)
      }),
    )
  })
})

suite('depth', () => {
  test(`${MAX_PAYLOAD_DEPTH} levels are accepted, one more is malformed`, () => {
    assert.ok(payloadOf(parse(nested(MAX_PAYLOAD_DEPTH))))
    assert.match(messageOf(parse(nested(MAX_PAYLOAD_DEPTH + 1))), /nested deeper than 256 levels/)
    assert.match(messageOf(parse(nested(200_000))), /nested deeper/)
    assert.match(messageOf(parse('{"a":'.repeat(200_000))), /nested deeper/)
  })

  test('a form cannot bypass the limit', () => {
    for (const text of [nested(200_000), `{"a":${nested(MAX_PAYLOAD_DEPTH)}}`]) {
      const body = new URLSearchParams({ payload: text }).toString()
      assert.match(messageOf(parse(body, FORM_TYPE)), /nested deeper/)
      assert.match(messageOf(parse(text, FORM_TYPE)), /nested deeper/)
    }
  })

  test('it is the depth of the value, not counting brackets inside strings', () => {
    const naive = (value: unknown): number =>
      typeof value === 'object' && value !== null ? 1 + Math.max(0, ...Object.values(value).map(naive)) : 0
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
        assert.equal(depthOf(Buffer.from(JSON.stringify(value))), naive(value))
      }),
    )
    assert.equal(depthOf(Buffer.from('{"[[[\\"[[[\\\\":"{{{"}')), 1)
  })
})

suite('forms', () => {
  test('JSON with the content type of a form, as curl sends it, is JSON', () => {
    assert.deepEqual(payloadOf(parse('{"a":"1+1=2&b"}', FORM_TYPE)), { a: '1+1=2&b' })
  })

  test('the field payload of a form is parsed, and its text is returned', () => {
    const payload = '{"ref": "refs/heads/größer+1", "n": 1.10}'
    const body = new URLSearchParams({ other: 'x', payload }).toString()
    const value = { ref: 'refs/heads/größer+1', n: 1.1 }
    assert.deepEqual(parse(body, `${FORM_TYPE}; charset=utf-8`), { kind: 'parsed', value, text: payload })
  })

  test('a form without a JSON payload is malformed', () => {
    assert.match(messageOf(parse('a=1&b=2', FORM_TYPE)), /neither JSON nor a form with a field named payload/)
    for (const body of ['payload=', 'payload', 'payload=%7B', 'payload=x'])
      assert.match(messageOf(parse(body, FORM_TYPE)), /field named payload is not valid JSON: line 1/, body)
  })
})
