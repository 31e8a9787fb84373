import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createBudgetLimiter } from './budget-limiter.ts'
import { hooksWithMore, shareCapacity } from './capacity.ts'
import type { ClaimedDelivery } from './claim-deliveries.ts'

const BUDGET = { credentialId: 1, origin: 'https://api.github.com' }

function open() {
  let now = 10_000
  const limiter = createBudgetLimiter(() => now)
  const claim = (claimedAt: number, isChecked = true) => limiter.heldMs(BUDGET, { claimedAt, isChecked })
  return { limiter, claim, pass: (ms: number) => (now += ms), now: () => now }
}

test('a budget starts with four requests at the same time, and gets one more for each success, up to sixteen', () => {
  const { limiter } = open()
  assert.equal(limiter.available(BUDGET), 4)
  for (let number = 0; number < 20; number += 1) {
    limiter.start(BUDGET)
    limiter.finish(BUDGET, true)
  }
  assert.equal(limiter.available(BUDGET), 16)
})

test('never more than the service says are left; one may always find out', () => {
  const { limiter, pass } = open()
  limiter.start(BUDGET)
  limiter.note(BUDGET, { remaining: 2, ms: 5_000 })
  assert.equal(limiter.available(BUDGET), 1)
  limiter.note(BUDGET, { remaining: 0, ms: 5_000 })
  assert.equal(limiter.available(BUDGET), 0)
  limiter.finish(BUDGET, false)
  assert.equal(limiter.available(BUDGET), 1)
  pass(5_001)
  assert.equal(limiter.available(BUDGET), 4)
})

test('a pause holds what was claimed before it was stored, and starts again with one request', () => {
  const { limiter, claim, pass, now } = open()
  limiter.pause(BUDGET, 60_000)
  assert.equal(limiter.available(BUDGET), 0)
  pass(10)
  assert.equal(claim(now()), 59_990)
  limiter.stored({ ...BUDGET, ms: 60_000, isNamed: true })
  pass(10)
  // The database checked this claim, by its own clock.
  assert.equal(claim(now()), 0)
  assert.ok(claim(now() - 20) > 0)
  assert.ok(claim(now(), false) > 0)
  assert.ok(limiter.isUnknownToClaims(BUDGET, { claimedAt: now(), isChecked: false }))
  assert.equal(limiter.available(BUDGET), 1)
  pass(60_000)
  assert.equal(claim(0), 0)
})

test('the first success after a pause without a named end is noticed once', () => {
  const { limiter, pass, now } = open()
  limiter.stored({ ...BUDGET, ms: 60_000, isNamed: false })
  assert.equal(limiter.noteSuccess(BUDGET, now()), false)
  pass(60_001)
  assert.equal(limiter.noteSuccess(BUDGET, now()), true)
  assert.equal(limiter.noteSuccess(BUDGET, now()), false)
})

test('a budget recovers for an hour after the end of its pause, however long that was', () => {
  const { limiter, pass } = open()
  assert.equal(limiter.isRecovering(BUDGET), false)
  limiter.stored({ ...BUDGET, ms: 3_600_000, isNamed: true })
  pass(3_600_001)
  assert.equal(limiter.isRecovering(BUDGET), true)
  pass(61 * 60_000)
  assert.equal(limiter.isRecovering(BUDGET), false)
})

test('hooks of one budget share its slots, and take none from the others', () => {
  const { limiter: budgets } = open()
  const limiter = { available: (_: string, free: number) => Math.min(100, free) }
  const budgetOf = (id: string) => (id.startsWith('b') ? BUDGET : undefined)
  const share = (free: number) => shareCapacity(['b1', 'b2', 'b3', 'x'], free, { limiter, budgets, budgetOf })
  assert.deepEqual(
    [...share(50).slots],
    [
      ['b1', 4],
      ['x', 46],
    ],
  )
  budgets.stored({ ...BUDGET, ms: 60_000, isNamed: true })
  const { slots, budgetSlots } = share(50)
  assert.deepEqual(
    [...slots],
    [
      ['b1', 1],
      ['b2', 1],
      ['b3', 1],
      ['x', 49],
    ],
  )
  assert.deepEqual([...budgetSlots.values()], [1, 1, 1])
  assert.equal(share(0).slots.size, 0)
})

test('hooks are claimed again that used up their share, or shared a budget that is used up', () => {
  const { limiter: budgets } = open()
  budgets.stored({ ...BUDGET, ms: 60_000, isNamed: true })
  const limiter = { available: (id: string) => (id === 'y' ? 2 : 1) }
  const budgetOf = (id: string) => (id.startsWith('b') ? BUDGET : undefined)
  const shares = shareCapacity(['b1', 'b2', 'x', 'y'], 50, { limiter, budgets, budgetOf })
  const after = (...hookIds: string[]) =>
    new Set(
      hooksWithMore(
        shares,
        hookIds.map((hookId) => ({ hookId }) as ClaimedDelivery),
      ),
    )
  assert.deepEqual(after(), new Set())
  assert.deepEqual(after('x', 'y'), new Set(['x']))
  assert.deepEqual(after('b1', 'y', 'y'), new Set(['b1', 'b2', 'y']))
})
