import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createRateLimiter } from './rate-limit.ts'

const LIMIT = { perSecond: 10, burst: 5 }
const T0 = 1_790_000_000_000

test('a burst passes immediately, then callers have to wait', () => {
  const limiter = createRateLimiter()
  const waits = Array.from({ length: 7 }, () => limiter.take('a', LIMIT, T0))
  assert.deepEqual(waits, [0, 0, 0, 0, 0, 1, 1])
})

test('tokens refill over time, up to the burst', () => {
  const limiter = createRateLimiter()
  const passing = (now: number) =>
    Array.from({ length: 20 }, () => limiter.take('a', LIMIT, now)).filter((w) => w === 0)
  assert.equal(passing(T0).length, 5)
  assert.equal(passing(T0 + 99).length, 0)
  assert.equal(passing(T0 + 100).length, 1)
  assert.equal(passing(T0 + 400).length, 3)
  assert.equal(passing(T0 + 3_600_000).length, 5)
})

test('after the returned seconds a call passes', () => {
  const limiter = createRateLimiter()
  const slow = { perSecond: 0.25, burst: 1 }
  assert.equal(limiter.take('a', slow, T0), 0)
  assert.equal(limiter.take('a', slow, T0), 4)
  assert.equal(limiter.take('a', slow, T0 + 1_500), 3)
  assert.equal(limiter.take('a', slow, T0 + 4_000), 0)
})

test('keys are independent', () => {
  const limiter = createRateLimiter()
  for (let n = 0; n < 10; n += 1) limiter.take('a', LIMIT, T0)
  assert.equal(limiter.take('b', LIMIT, T0), 0)
})

test('a clock that is set back locks nobody out', () => {
  const limiter = createRateLimiter()
  assert.equal(limiter.take('a', LIMIT, T0), 0)
  assert.equal(limiter.take('a', LIMIT, T0 - 3_600_000), 0)
  assert.equal(limiter.take('a', LIMIT, T0 - 3_600_000), 0)
})

test('the least recently used key is evicted beyond the maximum, and no other', () => {
  const limiter = createRateLimiter()
  const exhaust = (key: string) => {
    while (limiter.take(key, LIMIT, T0) === 0);
  }
  exhaust('idle')
  exhaust('busy')
  for (let n = 0; n < 60_000; n += 1) {
    limiter.take(`address ${n}`, LIMIT, T0)
    if (n % 1_000 === 0) assert.notEqual(limiter.take('busy', LIMIT, T0), 0)
  }
  assert.equal(limiter.take('idle', LIMIT, T0), 0)
})

test('in any period at most a burst plus the refill passes', () => {
  const gaps = fc.array(fc.nat(400), { minLength: 1, maxLength: 100 })
  fc.assert(
    fc.property(gaps, (milliseconds) => {
      const limiter = createRateLimiter()
      let now = T0
      let passed = 0
      for (const gap of milliseconds) {
        now += gap
        if (limiter.take('a', LIMIT, now) === 0) passed += 1
      }
      return passed <= LIMIT.burst + ((now - T0) / 1000) * LIMIT.perSecond + 1e-6
    }),
  )
})
