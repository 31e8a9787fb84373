import assert from 'node:assert/strict'
import { test } from 'node:test'
import { judgeDestination } from './host-rules.ts'

const MEMBER = { isInstanceAdmin: false }
const ADMIN = { isInstanceAdmin: true }
const here = { kind: 'allowed' as const, addresses: ['127.0.0.1'], isLoopback: true }
const elsewhere = { kind: 'allowed' as const, addresses: ['10.0.0.1'], isLoopback: false }
const at = (host: string | null, port = 22) => ({ host, port })
const granted = { ...at('localhost'), allow_loopback: true }

/** `granted`, `plain` or the fields with errors. */
function outcome(...input: Parameters<typeof judgeDestination>): string {
  const { allowLoopback, errors } = judgeDestination(...input)
  return Object.keys(errors).join() || (allowLoopback ? 'granted' : 'plain')
}

test('only an instance administrator makes this machine a destination', () => {
  assert.equal(outcome(at('localhost'), undefined, here, MEMBER), 'host')
  assert.equal(outcome(at('localhost'), undefined, here, ADMIN), 'granted')
  assert.equal(outcome(at('localhost'), { ...at('web'), allow_loopback: false }, here, MEMBER), 'host')
  // Saving the same host again grants what was missing.
  assert.equal(
    outcome(at('localhost'), { ...at('localhost'), allow_loopback: false }, here, ADMIN),
    'granted',
  )
  assert.equal(outcome(at('localhost'), { ...at('localhost'), allow_loopback: false }, here, MEMBER), 'plain')
})

test('another host loses the grant, and so does another name for this machine', () => {
  assert.equal(outcome(at('web'), granted, elsewhere, MEMBER), 'plain')
  assert.equal(outcome(at('web'), granted, elsewhere, ADMIN), 'plain')
  assert.equal(outcome(at('127.0.0.1'), granted, here, MEMBER), 'host')
})

test('a member keeps the grant with other changes, but cannot use it for another port', () => {
  assert.equal(outcome(at('localhost'), granted, undefined, MEMBER), 'granted')
  assert.equal(outcome(at('localhost'), granted, here, MEMBER), 'granted')
  assert.equal(outcome(at('localhost', 5432), granted, undefined, MEMBER), 'port')
  assert.equal(outcome(at('localhost', 5432), granted, undefined, ADMIN), 'granted')
  assert.equal(outcome(at('web', 2222), { ...at('web'), allow_loopback: false }, undefined, MEMBER), 'plain')
})

test('a refused address is an error for everybody, an unresolved name is not, and brings no grant', () => {
  const refused = { kind: 'refused' as const, message: 'metadata', discreetMessage: 'metadata' }
  assert.equal(outcome(at('169.254.169.254'), undefined, refused, ADMIN), 'host')
  assert.equal(outcome(at('later.example'), undefined, undefined, ADMIN), 'plain')
  const unknown = { kind: 'unreachable' as const, message: 'unknown' }
  assert.equal(outcome(at('later.example'), undefined, unknown, ADMIN), 'plain')
  assert.equal(outcome(at(null), undefined, undefined, MEMBER), 'plain')
})
