import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createPace } from './pace.ts'

const HOOK = 'one'

function answered(pace: ReturnType<typeof createPace>, times: number, tookMs: number): void {
  for (let number = 0; number < times; number += 1) {
    pace.begin(HOOK)
    pace.end(HOOK, true, tookMs)
  }
}

test('a receiver that nobody knows gets a few requests at once', () => {
  const pace = createPace()
  assert.equal(pace.room(HOOK), 4)
  for (let number = 0; number < 4; number += 1) pace.begin(HOOK)
  assert.equal(pace.room(HOOK), 0)
  assert.equal(pace.room('another'), 4)
})

test('each answer makes room for one more, for a quick receiver further than for a slow one', () => {
  const slow = createPace()
  answered(slow, 1_000, 2_000)
  assert.equal(slow.room(HOOK), 64)
  const quick = createPace()
  answered(quick, 1_000, 5)
  assert.equal(quick.room(HOOK), 256)
  answered(quick, 1, 2_000)
  assert.equal(quick.room(HOOK), 64)
})

test('a failure leaves room for one', () => {
  const pace = createPace()
  answered(pace, 100, 5)
  pace.begin(HOOK)
  pace.end(HOOK, false, 15_000)
  assert.equal(pace.room(HOOK), 1)
  pace.begin(HOOK)
  assert.equal(pace.room(HOOK), 0)
})
