import assert from 'node:assert/strict'
import { test } from 'node:test'
import { oncePer } from './once-per.ts'

test('a key is due at first, and again when its period is over; other keys have their own', () => {
  let time = 0
  const isDue = oncePer(10, () => time)
  assert.deepEqual([isDue('a'), isDue('a')], [true, false])
  time = 9
  assert.deepEqual([isDue('a'), isDue('b')], [false, true])
  time = 10
  assert.deepEqual([isDue('a'), isDue('b')], [true, false])
})
