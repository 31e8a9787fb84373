import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  hashToken,
  newDeliverySecret,
  newHookSecret,
  newToken,
  newUrlToken,
  type TokenKind,
} from './tokens.ts'

test('each kind of token has its prefix and 256 bits', () => {
  const prefixes: Record<TokenKind, string> = { access: 'gty_at_', refresh: 'gty_rt_' }
  for (const [kind, prefix] of Object.entries(prefixes)) {
    const token = newToken(kind as TokenKind)
    assert.ok(token.startsWith(prefix))
    assert.equal(Buffer.from(token.slice(prefix.length), 'base64url').length, 32)
  }
})

test('no two tokens or secrets are the same', () => {
  const makers = [() => newToken('access'), newUrlToken, newHookSecret, newDeliverySecret]
  for (const make of makers) assert.equal(new Set(Array.from({ length: 500 }, make)).size, 500)
})

test('a token is stored as its SHA-256', () => {
  const expected = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'
  assert.equal(hashToken('abc').toString('hex'), expected)
})

test('the token in a hook URL needs no escaping', () => {
  for (let round = 0; round < 200; round++) assert.match(newUrlToken(), /^[A-Za-z0-9_-]{43}$/)
})

test('the secret of an incoming hook is 64 hex characters', () => {
  assert.match(newHookSecret(), /^[0-9a-f]{64}$/)
})

test('the secret of an outgoing hook has the form of Standard Webhooks', () => {
  const secret = newDeliverySecret()
  assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/)
  assert.equal(Buffer.from(secret.slice('whsec_'.length), 'base64').length, 32)
})
