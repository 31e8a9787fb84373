import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { decodeBody, encodingOf } from './parse-payload.ts'

const MAX = 1000
const GZIP = { 'content-encoding': 'gzip' }
const codeOf = (body: Buffer) => {
  const decoded = decodeBody(GZIP, body, MAX)
  return decoded.kind === 'undecodable' ? decoded.code : decoded.kind
}

suite('the body of a call', () => {
  test('stays the same object without an encoding', () => {
    const body = Buffer.from('{}')
    for (const headers of [{}, { 'content-encoding': 'identity' }, { 'content-encoding': '' }]) {
      const decoded = decodeBody(headers, body, MAX)
      assert.ok(decoded.kind === 'decoded' && decoded.body === body)
    }
  })

  test('is inflated, whatever its bytes and the level of compression', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: MAX }), fc.integer({ min: 0, max: 9 }), (bytes, level) => {
        const decoded = decodeBody(GZIP, gzipSync(bytes, { level }), MAX)
        return decoded.kind === 'decoded' && decoded.body.equals(bytes)
      }),
    )
  })

  test('is inflated up to the limit, and not one byte more', () => {
    assert.equal(codeOf(gzipSync(Buffer.alloc(MAX))), 'decoded')
    assert.equal(codeOf(gzipSync(Buffer.alloc(MAX + 1))), 'too_large')
  })

  test('that inflates to a gigabyte takes no more memory than the limit', () => {
    const gigabyte = Buffer.concat(Array<Buffer>(64).fill(gzipSync(Buffer.alloc(2 ** 24), { level: 9 })))
    assert.ok(gigabyte.length < 2 ** 21)
    const before = process.memoryUsage().arrayBuffers
    assert.equal(codeOf(gigabyte), 'too_large')
    assert.ok(process.memoryUsage().arrayBuffers - before < 2 ** 20)
  })

  test('is malformed when it is cut off, changed, or no gzip at all', () => {
    const whole = gzipSync('{"ref":"main"}')
    const changed = Buffer.from(whole)
    changed[changed.length - 8]! ^= 1
    const others = [Buffer.alloc(0), Buffer.from('{}'), changed, deflateSync('{}'), brotliCompressSync('{}')]
    for (let length = 1; length < whole.length; length++) others.push(whole.subarray(0, length))
    for (const body of others) assert.equal(codeOf(body), 'malformed', body.toString('hex'))
  })
})

test('encodings are recognized in any case; several, or unknown ones, are not supported', () => {
  for (const name of ['gzip', 'GZIP', ' x-gzip ', 'identity, gzip'])
    assert.equal(encodingOf({ 'content-encoding': name }), 'gzip', name)
  for (const name of ['br', 'deflate', 'zstd', 'compress', 'gzip, gzip', 'gzip, br', 'gzip;q=1', 'x'])
    assert.equal(encodingOf({ 'content-encoding': name }), null, name)
})
