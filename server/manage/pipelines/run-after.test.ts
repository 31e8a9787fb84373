import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { findCycle } from './run-after.ts'

const known = new Map([
  [2, [1]],
  [3, [2, 1]],
  [4, [3]],
])

test('a pipeline may run after any that does not run after it', () => {
  assert.equal(findCycle(known, 5, [1, 2, 3, 4]), undefined)
  assert.equal(findCycle(known, 4, [1, 2]), undefined)
  assert.equal(findCycle(known, 1, []), undefined)
})

test('a cycle is reported from the pipeline back to itself', () => {
  assert.deepEqual(findCycle(known, 1, [1]), [1, 1])
  assert.deepEqual(findCycle(known, 1, [2]), [1, 2, 1])
  const circle = findCycle(known, 1, [4])!
  assert.deepEqual([circle.at(0), circle.at(1), circle.at(-1)], [1, 4, 1])
})

test('links that were each checked never form a cycle', () => {
  const links = fc.array(fc.tuple(fc.nat({ max: 8 }), fc.nat({ max: 8 })), { maxLength: 40 })
  fc.assert(
    fc.property(links, (inputs) => {
      const accepted = new Map<number, number[]>()
      for (const [id, before] of inputs) {
        if (!findCycle(accepted, id, [before])) accepted.set(id, [...(accepted.get(id) ?? []), before])
      }
      const reaches = (from: number, to: number): boolean =>
        (accepted.get(from) ?? []).some((next) => next === to || reaches(next, to))
      for (const id of accepted.keys()) assert.equal(reaches(id, id), false)
    }),
  )
})
