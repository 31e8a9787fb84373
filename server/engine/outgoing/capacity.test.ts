import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type AttemptedDelivery, type NextStep, skip } from './attempt-delivery.ts'
import { createBudgetLimiter } from './budget-limiter.ts'
import { createCapacity } from './capacity.ts'
import type { ClaimedDelivery } from './claim-deliveries.ts'
import type { AttemptRecord } from './record-attempt.ts'

const delivery = { hookId: 'hook' } as ClaimedDelivery
const sent = (next: NextStep): AttemptedDelivery => ({
  ...{ kind: 'sent', delivery, next, record: { duration_ms: 500 } as AttemptRecord },
  ...{ health: null, credentialId: null, pause: null, sentStatus: null, captured: null },
})
const unsent = (next: NextStep): AttemptedDelivery => ({
  ...{ kind: 'unsent', delivery, next, record: {} as AttemptRecord },
})

/** How many requests may be in flight to the receiver after these attempts; four at first. */
function limitAfter(attempts: readonly AttemptedDelivery[]): number {
  const capacity = createCapacity(createBudgetLimiter(() => 0))
  for (const attempted of attempts) {
    capacity.start(attempted.delivery)
    capacity.finish(attempted)
    capacity.stored(1)
    capacity.release(attempted)
  }
  return capacity.share(['hook']).slots.get('hook')!
}

test('a receiver gets one more request for each success, and falls back to one after a failure', () => {
  assert.equal(limitAfter([]), 4)
  assert.equal(limitAfter([sent({ kind: 'delivered' }), sent({ kind: 'delivered' })]), 6)
  assert.equal(limitAfter([sent({ kind: 'delivered' }), sent({ kind: 'retry', afterMs: 1 })]), 1)
})

test('attempts that sent nothing, and those that only asked for a pause, leave its limit as it was', () => {
  assert.equal(limitAfter([skip(delivery, { kind: 'ignored' })]), 4)
  assert.equal(limitAfter([skip(delivery, { kind: 'handed-back' })]), 4)
  assert.equal(limitAfter([skip(delivery, { kind: 'retry', afterMs: 1 })]), 4)
  assert.equal(limitAfter([unsent({ kind: 'failed', reason: 'No URL.' })]), 4)
  assert.equal(limitAfter([sent({ kind: 'paused', afterMs: 1 })]), 4)
})
