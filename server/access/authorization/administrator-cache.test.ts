import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hashToken, newToken } from '#platform/crypto/tokens.ts'
import { createAdministratorCache } from './administrator-cache.ts'
import type { Caller } from './caller.ts'

const MINUTE = 60_000
let now = Date.parse('2026-11-17T12:00:00Z')
const cache = createAdministratorCache(() => now)
const hashOf = (token: string) => hashToken(token).toString('hex')
const callerWith = (more: { is_instance_admin?: boolean; expires_at?: string } = {}) => {
  const { is_instance_admin = true, expires_at = null } = more
  return { id: 1, is_instance_admin, token: { expires_at } } as Caller
}

test('an administrator is known for ten minutes after the last use', () => {
  const token = newToken('access')
  cache.note(hashOf(token), callerWith())
  now += 9 * MINUTE
  cache.note(hashOf(token), callerWith())
  now += 9 * MINUTE
  assert.equal(cache.find(token)?.id, 1)
  now += 2 * MINUTE
  assert.equal(cache.find(token), undefined)
})

test('a token that is revoked, or no longer that of an administrator, is forgotten', () => {
  const token = newToken('access')
  for (const later of [undefined, callerWith({ is_instance_admin: false })]) {
    cache.note(hashOf(token), callerWith())
    assert.ok(cache.find(token))
    cache.note(hashOf(token), later)
    assert.equal(cache.find(token), undefined)
  }
})

test('a token that has expired meanwhile, and one that was never used, is not known', () => {
  const token = newToken('access')
  cache.note(hashOf(token), callerWith({ expires_at: new Date(now + MINUTE).toISOString() }))
  assert.ok(cache.find(token))
  now += 2 * MINUTE
  assert.equal(cache.find(token), undefined)
  assert.equal(cache.find(newToken('access')), undefined)
  assert.equal(cache.find(''), undefined)
  assert.equal(cache.find(hashOf(token)), undefined, 'a hash is no token')
})

test('the oldest are forgotten first', () => {
  const tokens = Array.from({ length: 1_001 }, () => newToken('access'))
  for (const token of tokens) cache.note(hashOf(token), callerWith())
  assert.equal(cache.find(tokens[0]!), undefined)
  assert.ok(cache.find(tokens[1]!))
})
