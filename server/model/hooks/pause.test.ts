import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { HealthRow } from './health.ts'
import { pauseOf } from './health.ts'

const ON = { active: true }
const LIMIT = {
  paused_until: '2026-11-15T14:05:31.000Z',
  reason: 'secondary rate limit',
  origin: 'https://api.github.com',
}
const FAILING: HealthRow = {
  failures_in_a_row: 5,
  failed_deliveries: 0,
  failing_since: '2026-11-15T13:00:00.000Z',
  open_until: '2026-11-15T14:01:00.000Z',
  due_at: null,
  last: null,
  now: '2026-11-15T14:00:00.000Z',
}
const NONE = { paused_until: null, paused_reason: null }

test('a rate limit names the host and when it ends', () => {
  assert.deepEqual(pauseOf(ON, undefined, LIMIT), {
    paused_until: LIMIT.paused_until,
    paused_reason: 'api.github.com allows no more requests until 14:05 UTC (secondary rate limit)',
  })
})

test('a hook whose attempts fail shows the pause of its circuit breaker', () => {
  assert.deepEqual(pauseOf(ON, FAILING, undefined), {
    paused_until: FAILING.open_until,
    paused_reason: 'nothing is sent until 14:01 UTC: attempts failed',
  })
  assert.deepEqual(pauseOf(ON, { ...FAILING, open_until: FAILING.now }, undefined), NONE)
  assert.deepEqual(pauseOf(ON, { ...FAILING, open_until: null }, undefined), NONE)
})

test('nothing is paused in a hook that is off', () => {
  assert.deepEqual(pauseOf({ active: false }, FAILING, LIMIT), NONE)
  assert.deepEqual(pauseOf(ON, undefined, undefined), NONE)
})
