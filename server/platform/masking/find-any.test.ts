import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createFinder } from './find-any.ts'

const text = fc.string({ unit: fc.constantFrom('a', 'b', 'é'), maxLength: 30 })
const words = fc.array(fc.string({ unit: fc.constantFrom('a', 'b', 'é'), minLength: 1, maxLength: 6 }), {
  maxLength: 8,
})

test('finds the longest word that ends at each position', () => {
  fc.assert(
    fc.property(words, text, (words, text) => {
      const expected = Array.from(text, (_, index) => index + 1).flatMap((end) => {
        const lengths = words.filter((word) => text.slice(0, end).endsWith(word)).map((word) => word.length)
        return lengths.length === 0 ? [] : [[end - Math.max(...lengths), end]]
      })
      const found: number[][] = []
      createFinder(words).scan(text, 0, 0, (start, end) => found.push([start, end]))
      assert.deepEqual(found, expected)
    }),
    { numRuns: 1_000 },
  )
})

test('the depth is the longest suffix of the text that is a prefix of a word', () => {
  fc.assert(
    fc.property(words, text, (words, text) => {
      const finder = createFinder(words)
      const isBeginning = (end: string) => words.some((word) => word.startsWith(end))
      const lengths = Array.from({ length: text.length + 1 }, (_, length) => length)
      const expected = lengths.findLast((length) => length === 0 || isBeginning(text.slice(-length)))
      assert.equal(finder.depth(finder.scan(text, 0, 0, () => {})), expected)
    }),
    { numRuns: 1_000 },
  )
})

test('without words nothing is found', () => {
  const finder = createFinder([])
  const state = finder.scan('anything', 0, 0, () => assert.fail())
  assert.equal(finder.depth(state), 0)
})
