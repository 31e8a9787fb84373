import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chooseEncoding, type EncodedFile, isCached } from './static-files.ts'

const encodedFile = (encoding: EncodedFile['encoding']): EncodedFile => ({
  encoding,
  bytes: Buffer.alloc(0),
  etag: `"${encoding}"`,
})
const encodings = [encodedFile('br'), encodedFile('gzip'), encodedFile(null)]

const CHOICES: [accept: string | undefined, encoding: EncodedFile['encoding']][] = [
  [undefined, null],
  ['', null],
  ['gzip, deflate, br, zstd', 'br'],
  ['gzip', 'gzip'],
  ['GZIP;q=0.5', 'gzip'],
  ['br;q=0, gzip', 'gzip'],
  ['br; q=0.000, gzip;q=0', null],
  ['identity', null],
  ['*', null],
  [',;,q=', null],
]
for (const [accept, encoding] of CHOICES) {
  test(`Accept-Encoding ${accept ?? 'absent'} selects ${encoding ?? 'the plain file'}`, () => {
    assert.equal(chooseEncoding(encodings, accept).encoding, encoding)
  })
}

test('an encoding is recognized by its ETag, alone or among others', () => {
  assert.ok(isCached(encodings[0]!, '"br"'))
  assert.ok(isCached(encodings[0]!, '"x", W/"br"'))
  assert.ok(isCached(encodings[0]!, '*'))
  assert.ok(!isCached(encodings[0]!, '"gzip"'))
  assert.ok(!isCached(encodings[0]!, undefined))
})
