import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createConcurrencyLimiter } from './concurrency-limiter.ts'

const HOOK = 'one'
const ALL_FREE = 1_024

function answered(limiter: ReturnType<typeof createConcurrencyLimiter>, times: number, tookMs: number): void {
  for (let number = 0; number < times; number += 1) {
    limiter.start(HOOK)
    limiter.finish(HOOK, true, tookMs)
  }
}

test('a receiver that nobody knows gets a few requests at once', () => {
  const limiter = createConcurrencyLimiter()
  assert.equal(limiter.available(HOOK, ALL_FREE), 4)
  for (let number = 0; number < 4; number += 1) limiter.start(HOOK)
  assert.equal(limiter.available(HOOK, ALL_FREE), 0)
  assert.equal(limiter.available('another', ALL_FREE), 4)
})

test('each answer makes room for one more, for a quick receiver further than for a slow one', () => {
  const slow = createConcurrencyLimiter()
  answered(slow, 1_000, 2_000)
  assert.equal(slow.available(HOOK, ALL_FREE), 64)
  const quick = createConcurrencyLimiter()
  answered(quick, 1_000, 5)
  assert.equal(quick.available(HOOK, ALL_FREE), 256)
  answered(quick, 1, 2_000)
  assert.equal(quick.available(HOOK, ALL_FREE), 64)
})

test('a failure leaves room for one', () => {
  const limiter = createConcurrencyLimiter()
  answered(limiter, 100, 5)
  limiter.start(HOOK)
  limiter.finish(HOOK, false, 15_000)
  assert.equal(limiter.available(HOOK, ALL_FREE), 1)
  limiter.start(HOOK)
  assert.equal(limiter.available(HOOK, ALL_FREE), 0)
})

test('slow receivers leave places to others, however many they are and however much waits for them', () => {
  const limiter = createConcurrencyLimiter()
  let free = ALL_FREE
  const slow = Array.from({ length: 200 }, (_, number) => `slow ${number}`)
  for (const hook of slow) {
    for (let number = 0; number < 100; number += 1) {
      limiter.start(hook)
      limiter.finish(hook, true, 25_000)
    }
  }
  for (let round = 0; round < 10; round += 1) {
    for (const hook of slow) {
      const places = limiter.available(hook, free)
      for (let number = 0; number < places; number += 1) limiter.start(hook)
      free -= places
    }
  }
  assert.ok(free > 0)
  assert.equal(limiter.available('quick', free), 1)
  limiter.start('quick')
  assert.equal(limiter.available('quick', free - 1), 0)
  assert.equal(limiter.available('another', 0), 0)
})

test('a receiver that is alone gets all the places that it can use', () => {
  const limiter = createConcurrencyLimiter()
  answered(limiter, 1_000, 5)
  for (let number = 0; number < 256; number += 1) {
    if (number <= 64) assert.equal(limiter.available(HOOK, ALL_FREE - number), 256 - number)
    limiter.start(HOOK)
  }
  assert.equal(limiter.available(HOOK, ALL_FREE - 256), 0)
})

test('while its connections are busy, a quick receiver is given many more at a time instead of one by one', () => {
  const limiter = createConcurrencyLimiter()
  answered(limiter, 1_000, 5)
  for (let number = 0; number < 256; number += 1) limiter.start(HOOK)
  const roomAfter = (ends: number) => {
    for (let number = 0; number < ends; number += 1) limiter.finish(HOOK, true, 5)
    return limiter.available(HOOK, ALL_FREE)
  }
  assert.equal(roomAfter(95), 0)
  assert.equal(roomAfter(1), 96)
  assert.equal(roomAfter(100), 196)
})
