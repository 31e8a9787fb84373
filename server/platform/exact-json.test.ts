import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { isLargeInteger, parseExactly } from './exact-json.ts'

test('integers of any size keep their digits', () => {
  fc.assert(
    fc.property(fc.bigInt(), (number) => {
      const text = `{"b":[${number}],"a":"${number}"}`
      assert.equal(JSON.stringify(parseExactly(text)), text)
    }),
  )
})

test('only integers beyond 2^53 are special', () => {
  const read = (text: string) => parseExactly(text)
  assert.ok(isLargeInteger(read('9007199254740993')))
  assert.ok(isLargeInteger(read('-9007199254740992')))
  for (const text of [
    '9007199254740991',
    '1.5',
    '0.1234567890123456789',
    '1e400',
    'null',
    '"9007199254740993"',
  ])
    assert.deepEqual(read(text), JSON.parse(text), text)
  assert.ok(!isLargeInteger({ rawJSON: '9007199254740993' }))
})

test('text that is not JSON is rejected, however many digits it has', () => {
  for (const text of ['{', '[1234567890123456789,]', '01234567890123456789'])
    assert.throws(() => parseExactly(text), SyntaxError)
})
