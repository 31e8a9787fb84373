import assert from 'node:assert/strict'
import { test } from 'node:test'
import { idempotencyKey, isPing } from './sender-headers.ts'

const HEADERS = [
  'idempotency-key',
  'webhook-id',
  'x-github-delivery',
  'x-gitea-delivery',
  'x-forgejo-delivery',
  'x-shopify-webhook-id',
  'linear-delivery',
  'x-gitlab-event-uuid',
]
const body = Buffer.from('{}')
type Headers = Record<string, string | string[] | undefined>

const keyOf = (headers: Headers, of = body) => idempotencyKey(headers, of)?.toString('hex')

test('every known header identifies a call; without one every call counts', () => {
  for (const name of HEADERS) assert.match(keyOf({ [name]: '1' })!, /^[0-9a-f]{64}$/)
  assert.equal(new Set(HEADERS.map((name) => keyOf({ [name]: '1' }))).size, HEADERS.length)
  assert.equal(keyOf({}), undefined)
  assert.equal(keyOf({ 'x-request-id': '1' }), undefined)
})

test('the same id with the same body is the same call; a different id or body is another', () => {
  assert.equal(keyOf({ 'webhook-id': 'a' }), keyOf({ 'webhook-id': 'a' }))
  assert.equal(keyOf({ 'webhook-id': 'a' }), keyOf({ 'webhook-id': ' a ' }))
  assert.notEqual(keyOf({ 'webhook-id': 'a' }), keyOf({ 'webhook-id': 'b' }))
  assert.notEqual(keyOf({ 'webhook-id': 'a' }), keyOf({ 'webhook-id': 'a' }, Buffer.from('[]')))
  assert.notEqual(
    keyOf({ 'webhook-id': 'a' }, Buffer.from('b')),
    keyOf({ 'webhook-id': 'ab' }, Buffer.alloc(0)),
  )
})

test('of several ids, the first in the order of the contract counts', () => {
  for (let at = 0; at < HEADERS.length - 1; at += 1) {
    const both = Object.fromEntries(HEADERS.slice(at).map((name) => [name, 'a']))
    assert.equal(keyOf(both), keyOf({ [HEADERS[at]!]: 'a' }), HEADERS[at]!)
  }
})

test('an empty id, or one sent twice, is ignored', () => {
  for (const value of ['', '  ', ['a', 'a'], undefined])
    assert.equal(keyOf({ 'webhook-id': value }), undefined)
  assert.equal(keyOf({ 'idempotency-key': '', 'webhook-id': 'a' }), keyOf({ 'webhook-id': 'a' }))
})

test('a ping is detected by the event header, and by nothing that resembles it', () => {
  for (const name of ['x-github-event', 'x-gitea-event', 'x-forgejo-event', 'x-gogs-event'])
    assert.ok(isPing({ [name]: 'ping' }), name)
  assert.ok(isPing({ 'x-event-key': 'diagnostics:ping' }))
  const others: Headers[] = [
    {},
    { 'x-github-event': 'push' },
    { 'x-event': 'ping' },
    { 'x-github-event': ['ping', 'ping'] },
  ]
  for (const headers of others) assert.ok(!isPing(headers), JSON.stringify(headers))
})
