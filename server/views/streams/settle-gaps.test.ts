import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NO_END, type Ranges } from './ranges.ts'
import { type Marks, settleGaps } from './settle-gaps.ts'

const UNSEEN: Ranges = [
  [3, 4],
  [8, 8],
  [10, NO_END],
]

const at = (ms: number) => ({ beganAt: ms, endedAt: ms })

test('a gap is waited for as long as a transaction can take, and then given up', () => {
  const marks: Marks = [{ at: 0, last: 5 }]
  assert.deepEqual(settleGaps(UNSEEN, marks, at(69_999)).unseen, UNSEEN)
  assert.deepEqual(settleGaps(UNSEEN, marks, at(70_000)).unseen, [
    [8, 8],
    [10, NO_END],
  ])
})

test('a gap that was seen later is waited for longer', () => {
  let marks: Marks = []
  let unseen: Ranges = [
    [3, 4],
    [6, NO_END],
  ]
  for (let ms = 0; ms <= 100_000; ms += 1_000) {
    if (ms === 30_000) unseen = [...unseen.slice(0, -1), [8, 8], [10, NO_END]]
    ;({ unseen, marks } = settleGaps(unseen, marks, at(ms)))
    assert.ok(marks.length <= 16)
    assert.equal(
      unseen.some(([from]) => from === 3),
      ms < 70_000,
    )
    if (ms >= 30_000)
      assert.equal(
        unseen.some(([from]) => from === 8),
        ms < 100_000,
        String(ms),
      )
  }
})

test('what is to come is never given up', () => {
  const marks: Marks = [{ at: 0, last: 9 }]
  assert.deepEqual(settleGaps(UNSEEN, marks, at(1_000_000)).unseen, [[10, NO_END]])
})

test('a read that took long marks when it ended, and settles by when it began', () => {
  const { marks } = settleGaps(UNSEEN, [], { beganAt: 0, endedAt: 20_000 })
  assert.deepEqual(marks, [{ at: 20_000, last: 9 }])
  assert.deepEqual(settleGaps(UNSEEN, marks, { beganAt: 89_999, endedAt: 120_000 }).unseen, UNSEEN)
})
