import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createConcurrencyLimiter } from './concurrency-limiter.ts'

const HOOK = 'one'
const ALL_FREE = 1_024

function answered(limiter: ReturnType<typeof createConcurrencyLimiter>, times: number, tookMs: number): void {
  for (let number = 0; number < times; number += 1) {
    limiter.start(HOOK)
    limiter.succeeded(HOOK, tookMs)
  }
}

test('a new receiver gets a few concurrent requests', () => {
  const limiter = createConcurrencyLimiter()
  assert.equal(limiter.available(HOOK, ALL_FREE), 4)
  for (let number = 0; number < 4; number += 1) limiter.start(HOOK)
  assert.equal(limiter.available(HOOK, ALL_FREE), 0)
  assert.equal(limiter.available('another', ALL_FREE), 4)
})

test('each success allows one more request, up to a higher limit for a fast receiver', () => {
  const slow = createConcurrencyLimiter()
  answered(slow, 1_000, 2_000)
  assert.equal(slow.available(HOOK, ALL_FREE), 64)
  const quick = createConcurrencyLimiter()
  answered(quick, 1_000, 5)
  assert.equal(quick.available(HOOK, ALL_FREE), 256)
  answered(quick, 1, 2_000)
  assert.equal(quick.available(HOOK, ALL_FREE), 64)
})

test('a failure reduces the limit to one', () => {
  const limiter = createConcurrencyLimiter()
  answered(limiter, 100, 5)
  limiter.start(HOOK)
  limiter.failed(HOOK)
  assert.equal(limiter.available(HOOK, ALL_FREE), 1)
  limiter.start(HOOK)
  assert.equal(limiter.available(HOOK, ALL_FREE), 0)
})

test('slow receivers leave slots to others, however many they are and however much is pending', () => {
  const limiter = createConcurrencyLimiter()
  let free = ALL_FREE
  const slow = Array.from({ length: 200 }, (_, number) => `slow ${number}`)
  for (const hook of slow) {
    for (let number = 0; number < 100; number += 1) {
      limiter.start(hook)
      limiter.succeeded(hook, 25_000)
    }
  }
  for (let round = 0; round < 10; round += 1) {
    for (const hook of slow) {
      const slots = limiter.available(hook, free)
      for (let number = 0; number < slots; number += 1) limiter.start(hook)
      free -= slots
    }
  }
  assert.ok(free > 0)
  assert.equal(limiter.available('quick', free), 1)
  limiter.start('quick')
  assert.equal(limiter.available('quick', free - 1), 0)
  assert.equal(limiter.available('another', 0), 0)
})

test('a single receiver gets all the slots that it can use', () => {
  const limiter = createConcurrencyLimiter()
  answered(limiter, 1_000, 5)
  for (let number = 0; number < 256; number += 1) {
    if (number <= 64) assert.equal(limiter.available(HOOK, ALL_FREE - number), 256 - number)
    limiter.start(HOOK)
  }
  assert.equal(limiter.available(HOOK, ALL_FREE - 256), 0)
})

test('while its connections are busy, a fast receiver gets requests in bulk instead of one by one', () => {
  const limiter = createConcurrencyLimiter()
  answered(limiter, 1_000, 5)
  for (let number = 0; number < 256; number += 1) limiter.start(HOOK)
  const availableAfter = (ends: number) => {
    for (let number = 0; number < ends; number += 1) limiter.succeeded(HOOK, 5)
    return limiter.available(HOOK, ALL_FREE)
  }
  assert.equal(availableAfter(95), 0)
  assert.equal(availableAfter(1), 96)
  assert.equal(availableAfter(100), 196)
})
