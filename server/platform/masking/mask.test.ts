import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createMask } from './mask.ts'

const maskBytes = (bytes: Buffer, secrets: string[]) => createMask(secrets).bytes(bytes)

const SECRET = 'pa"ss wörd/+\\ of a sender'
const masked = (text: string) => maskBytes(Buffer.from(text), [SECRET, 'another-secret-of-it']).toString()

test('a secret is masked as plain text, in JSON, in forms and in URLs', () => {
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

test('everything else stays unchanged, text or not', () => {
  const bytes = Buffer.from(Array.from({ length: 512 }, (_, n) => n % 256))
  assert.deepEqual(maskBytes(bytes, [SECRET]), bytes)
  const hidden = maskBytes(Buffer.concat([bytes, Buffer.from(SECRET), bytes]), [SECRET])
  assert.deepEqual(hidden, Buffer.concat([bytes, Buffer.from('********'), bytes]))
  assert.deepEqual(maskBytes(bytes, []), bytes)
})

test('a secret that contains another is masked entirely', () => {
  const inner = 'x'.repeat(16)
  assert.equal(maskBytes(Buffer.from(`a${inner}b`), [inner, `a${inner}b`]).toString(), '********')
})

test('a value with a special meaning in replacements is taken literally', () => {
  assert.equal(maskBytes(Buffer.from("$&$& $1 $'"), ['$&$&']).toString(), "******** $1 $'")
})

test('headers are masked by value, including repeated ones', () => {
  const headers = { referer: `https://x/${SECRET}`, several: ['a', SECRET], other: 'b' }
  assert.deepEqual(createMask([SECRET]).headers(headers), {
    referer: 'https://x/********',
    several: ['a', '********'],
    other: 'b',
  })
})

test('a secret inside a base64 value is masked as far as possible', () => {
  const header = `Basic ${Buffer.from('robot:another-secret-of-it').toString('base64')}`
  assert.match(createMask(['another-secret-of-it']).text(header), /^Basic \S{8,9}\*{8}\S{0,2}$/)
})
