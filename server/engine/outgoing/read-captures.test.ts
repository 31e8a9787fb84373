import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type CaptureRule, hiddenTexts, MAX_CAPTURE_BYTES, readCaptures } from './read-captures.ts'

const rule = (more: Partial<CaptureRule> = {}): CaptureRule => ({
  name: 'id',
  ...(more.header === undefined && { path: 'message.id' }),
  type: 'string',
  required: true,
  hidden: false,
  ...more,
})

function read(body: unknown, rules = [rule()], known = {}) {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return readCaptures(rules, { headers: { 'x-id': ['h-1'] }, body: Buffer.from(text) }, known)
}

test('values come from paths and headers, and keep all digits', () => {
  assert.deepEqual(read({ message: { id: 'a-1' } }), { values: { id: 'a-1' }, error: null })
  assert.deepEqual(read({}, [rule({ header: 'X-Id' })]), { values: { id: 'h-1' }, error: null })
  const large = '{"message": {"id": 123456789012345678901}}'
  assert.deepEqual(read(large).values, { id: '123456789012345678901' })
  assert.match(read(large, [rule({ type: 'integer' })]).error!, /^id: expected an integer/)
  assert.deepEqual(read({ message: { id: 7 } }, [rule({ type: 'integer' })]).values, { id: 7 })
  assert.deepEqual(read({ message: { id: true } }, [rule({ type: 'boolean' })]).values, { id: true })
})

test('text that looks like a template or HTML is text', () => {
  const hostile = '{{ application.source_provider.access_token }}<script>alert(1)</script>'
  assert.deepEqual(read({ message: { id: hostile } }).values, { id: hostile })
})

test('a required value that is missing is named, unless it is known; an optional one may be missing', () => {
  assert.deepEqual(read({ message: {} }), { values: {}, error: 'id: the response has no message.id.' })
  assert.equal(read({ message: { id: null } }).error, 'id: the response has no message.id.')
  assert.equal(read({}, [rule({ header: 'X-Other' })]).error, 'id: the response has no header X-Other.')
  assert.equal(read({ message: {} }, [rule({ required: false })]).error, null)
  assert.equal(read({ message: {} }, [rule()], { id: 'known' }).error, null)
})

test('no error contains what the answer says', () => {
  assert.equal(read('<html>secret</html>').error, 'id: the response is not JSON.')
  assert.equal(read('').error, 'id: the response is empty.')
  assert.equal(read('\ufffe\ud800').error, 'id: the response is not JSON.')
  assert.equal(read('x'.repeat(MAX_CAPTURE_BYTES)).error, 'id: the response is longer than 256 KiB.')
  assert.match(read({ message: { id: { secret: 1 } } }).error!, /found an object\.$/)
  assert.match(
    read({ message: { id: 'x'.repeat(5000) } }).error!,
    /5000 bytes, more than the maximum of 4096/,
  )
  assert.match(read({ message: { id: 'abc' } }, [rule({ hidden: true })]).error!, /at least 4 characters/)
  assert.match(read({ message: { id: 'éé' } }, [rule({ hidden: true })]).error!, /at least 4 characters/)
  assert.match(read({ message: { id: 'a\u0000b' } }).error!, /^id: /)
})

test('every text where a hidden value is expected is to be masked; nothing is known of an answer that is cut off', () => {
  const hidden = [rule({ hidden: true }), rule({ hidden: true, header: 'X-Id' }), rule({ path: 'open' })]
  const texts = (body: string, rules = hidden) =>
    hiddenTexts(rules, { headers: { 'x-id': 'h-1' }, body: Buffer.from(body) })
  const nested = '{"message": {"id": ["a", {"b": 12345678901234567890, "c": null}, 7]}, "open": "d"}'
  assert.deepEqual(texts(nested)!.toSorted(), ['12345678901234567890', '7', 'a', 'h-1'])
  assert.deepEqual(texts('<html>'), ['h-1'])
  assert.equal(texts('x'.repeat(MAX_CAPTURE_BYTES)), null)
  assert.deepEqual(texts('x'.repeat(MAX_CAPTURE_BYTES), hidden.slice(1)), ['h-1'])
  assert.deepEqual(texts(nested, [rule()]), [])
})

test('inherited properties are no values, and a value may have the name of one', () => {
  assert.deepEqual(read({}, [rule({ path: 'constructor.name' })]).values, {})
  assert.deepEqual(read({}, [rule({ path: '__proto__' })]).values, {})
  const { values } = read({ message: { id: 'a-1' } }, [rule({ name: '__proto__' })])
  assert.deepEqual(Object.entries(values), [['__proto__', 'a-1']])
})
