import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { EVERYTHING, includes, minus, NO_END, overlap, type Ranges, without } from './ranges.ts'

const MOST = 30
const numbers = Array.from({ length: MOST }, (_, index) => index + 1)
const someNumbers = fc.uniqueArray(fc.integer({ min: 1, max: MOST }))

/** Everything but these, so that the last range has no end. */
function allBut(left: readonly number[]): Ranges {
  return left.reduce<Ranges>((ranges, number) => without(ranges, number), EVERYTHING)
}

const members = (ranges: Ranges) => numbers.filter((number) => includes(ranges, number))

function assertWellFormed(ranges: Ranges): void {
  let previous = -1
  for (const [from, to] of ranges) {
    assert.ok(from >= 1 && from <= to && to <= NO_END && from > previous + 1, JSON.stringify(ranges))
    previous = to
  }
}

test('ranges hold the numbers that a set would hold', () => {
  fc.assert(
    fc.property(someNumbers, someNumbers, (left, right) => {
      const [one, other] = [allBut(left), allBut(right)]
      assert.deepEqual(
        members(one),
        numbers.filter((number) => !left.includes(number)),
      )
      const both = overlap(one, other)
      const onlyOne = minus(one, other)
      for (const ranges of [one, other, both, onlyOne]) assertWellFormed(ranges)
      assert.deepEqual(
        members(both),
        numbers.filter((number) => !left.includes(number) && !right.includes(number)),
      )
      assert.deepEqual(
        members(onlyOne),
        numbers.filter((number) => !left.includes(number) && right.includes(number)),
      )
    }),
  )
})

test('ranges that touch are one range', () => {
  assert.deepEqual(without(without(EVERYTHING, 3), 4), [
    [1, 2],
    [5, NO_END],
  ])
  assert.deepEqual(minus(EVERYTHING, [[1, 9]]), [[10, NO_END]])
  assert.deepEqual(minus(EVERYTHING, EVERYTHING), [])
})
