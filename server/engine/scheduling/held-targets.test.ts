import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HELD, resolveHeld } from './held-targets.ts'
import { actionState, readyTargets } from './states.ts'

const STATES = {
  held: HELD,
  running: { status: 'in-progress', reason: 'IN_PROGRESS' },
  reverting: { status: 'in-progress', reason: 'REVERTING' },
  failed: { status: 'failed', reason: 'FAILED_REVERTED' },
  done: { status: 'completed', reason: 'COMPLETED' },
  skipped: { status: 'skipped', reason: 'SKIPPED' },
  pending: { status: 'pending', reason: 'PENDING' },
} as const

/** One server per batch. */
const rollout = (text: string) =>
  text.split(' ').map((name, index) => ({ ...STATES[name as 'held'], batch: index + 1 }))

const resolve = (text: string, more: object = {}) => {
  const resolved = resolveHeld({
    targets: rollout(text),
    maxFailed: 0,
    revertsAll: true,
    isCancelled: false,
    ...more,
  })
  return 'targets' in resolved
    ? `${resolved.kind} ${resolved.targets.map(({ batch }) => batch)}`
    : resolved.kind
}

test('held servers are decided about when the last batch has ended, and then go back one batch after another', () => {
  for (const text of ['held pending pending', 'held running', 'held reverting', 'done skipped', 'failed'])
    assert.equal(resolve(text), 'undecided', text)
  assert.equal(resolve('held held held'), 'done 1,2,3')
  assert.equal(resolve('held held failed skipped'), 'back 2')
  assert.equal(resolve('held reverting failed skipped'), 'undecided')
  assert.equal(resolve('held failed failed skipped'), 'back 1')
})

test('failures that are allowed, a cancellation and another setting leave them as they are', () => {
  assert.equal(resolve('held failed', { maxFailed: 1 }), 'done 1')
  assert.equal(resolve('held failed failed', { maxFailed: 1 }), 'back 1')
  assert.equal(resolve('held failed', { isCancelled: true }), 'done 1')
  assert.equal(resolve('held failed', { revertsAll: false }), 'done 1')
  const targets = rollout('held failed')
  const action = { targets, maxFailed: 0, revertsAll: true, isCancelled: false }
  assert.equal(resolveHeld(action, new Set([targets[1]!])).kind, 'done')
})

test('a held server does not keep the next batch waiting, and its action says what happens', () => {
  assert.deepEqual(
    readyTargets(rollout('held pending pending')).map(({ batch }) => batch),
    [2],
  )
  const reason = (text: string) => actionState(rollout(text)).reason
  assert.equal(reason('held pending'), 'PENDING')
  assert.equal(reason('held running'), 'IN_PROGRESS')
  assert.equal(reason('held reverting failed'), 'REVERTING')
  assert.equal(reason('failed failed skipped'), 'FAILED_REVERTED')
})
