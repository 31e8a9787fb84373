import assert from 'node:assert/strict'
import { test } from 'node:test'
import { countDown } from './step.ts'

test('a step has its full timeout when it starts, whatever the clock shows', () => {
  for (let shown = 0.1; shown < 100_000; shown += 7.3) assert.equal(countDown(7, () => shown)(), 7_000)
})

test('the time left of a step runs down to zero', () => {
  let shown = 1_234.5
  const left = countDown(7, () => shown)
  const seen = [0, 0.4, 1_000, 5_000, 10_000].map((ms) => {
    shown += ms
    return left()
  })
  assert.deepEqual(seen, [7_000, 7_000, 6_000, 1_000, 0])
})
