import assert from 'node:assert/strict'
import { test } from 'node:test'
import { maskBytes, maskHeaders } from './mask.ts'

const SECRET = 'pa"ss wörd/+\\ of a sender'
const masked = (text: string) => maskBytes(Buffer.from(text), [SECRET, 'another-secret-of-it']).toString()

test('a secret is hidden as it is, as JSON, and as forms and addresses write it', () => {
  for (const written of [
    SECRET,
    JSON.stringify(SECRET).slice(1, -1),
    JSON.stringify(SECRET).slice(1, -1).replaceAll('/', '\\/'),
    encodeURIComponent(SECRET),
    new URLSearchParams({ a: SECRET }).toString().slice('a='.length),
  ])
    assert.equal(masked(`<${written}> and <${written}>`), '<********> and <********>')
  assert.equal(masked('{"a":"another-secret-of-it"}'), '{"a":"********"}')
})

test('all else stays to the byte, text or not', () => {
  const bytes = Buffer.from(Array.from({ length: 512 }, (_, n) => n % 256))
  assert.deepEqual(maskBytes(bytes, [SECRET]), bytes)
  const hidden = maskBytes(Buffer.concat([bytes, Buffer.from(SECRET), bytes]), [SECRET])
  assert.deepEqual(hidden, Buffer.concat([bytes, Buffer.from('********'), bytes]))
  assert.deepEqual(maskBytes(bytes, []), bytes)
})

test('a secret that holds another is hidden whole', () => {
  const inner = 'x'.repeat(16)
  assert.equal(maskBytes(Buffer.from(`a${inner}b`), [inner, `a${inner}b`]).toString(), '********')
})

test('a value with a special meaning in replacements is nothing special', () => {
  assert.equal(maskBytes(Buffer.from("$& $1 $'"), ['$&']).toString(), "******** $1 $'")
})

test('headers are masked by value, also those that came more than once', () => {
  const headers = { referer: `https://x/${SECRET}`, several: ['a', SECRET], other: 'b' }
  assert.deepEqual(maskHeaders(headers, [SECRET]), {
    referer: 'https://x/********',
    several: ['a', '********'],
    other: 'b',
  })
  assert.equal(maskHeaders(null, [SECRET]), null)
})
