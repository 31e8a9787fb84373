import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type Cursor, createFinder, type Found } from './find-any.ts'
import type { Word } from './trie.ts'

const START = { state: 0, column: 0, hasSpace: false }
const wordsOf = (texts: readonly string[], more: Omit<Word, 'text'> = {}): Word[] =>
  texts.map((text) => ({ text, ...more }))

/** All of a text, with the line breaks that count as not there left out. */
function scan(words: readonly Word[], text: string, found: Found, cursor: Cursor = { ...START }) {
  const finder = createFinder(words)
  const skipped: number[] = []
  for (let at = 0; at < text.length; ) {
    const stop = finder.scan(text, at, cursor, found)
    if (stop < text.length) skipped.push(stop)
    at = stop + 1
  }
  return { depth: finder.depth(cursor), skipped }
}

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
      scan(wordsOf(words), text, (end, length) => found.push([end - length, end]) > 0)
      assert.deepEqual(found, expected)
    }),
    { numRuns: 1_000 },
  )
})

test('the depth is the longest suffix of the text that is a prefix of a word', () => {
  fc.assert(
    fc.property(words, text, (words, text) => {
      const isBeginning = (end: string) => words.some((word) => word.startsWith(end))
      const lengths = Array.from({ length: text.length + 1 }, (_, length) => length)
      const expected = lengths.findLast((length) => length === 0 || isBeginning(text.slice(-length)))
      assert.equal(scan(wordsOf(words), text, () => true).depth, expected)
    }),
    { numRuns: 1_000 },
  )
})

test('letters of ASCII match in either case; exact words come with their texts, longest first', () => {
  const found: unknown[] = []
  const words = [...wordsOf(['Secret', 'é']), ...wordsOf(['CRET', 'cret', 'ret'], { isExact: true })]
  scan(words, 'a SeCReT É é', (end, length, exact) => {
    found.push([end, length, exact])
    return exact === undefined && length === 1
  })
  assert.deepEqual(found, [
    [8, 6, undefined],
    [8, 4, ['CRET', 'cret']],
    [8, 3, ['ret']],
    [12, 1, undefined],
  ])
})

test('a line break inside a word that may wrap counts as not there, after the usual line lengths', () => {
  const words = wordsOf(['0123456789'], { mayWrap: true })
  const at = (column: number, lineBreak = '\n', filler = 'x') => {
    const found: number[] = []
    const text = `${filler.repeat(column - 5)}01234${lineBreak}56789`
    const { skipped } = scan(words, text, (_, length) => found.push(length) > 0)
    return { found: found.length > 0, skipped: skipped.length }
  }
  for (const column of [60, 64, 76]) {
    assert.deepEqual(at(column), { found: true, skipped: 1 })
    assert.deepEqual(at(column, '\r\n'), { found: true, skipped: 2 })
    assert.deepEqual(at(column, '\n', ' '), { found: false, skipped: 0 }, 'a line with spaces')
  }
  for (const column of [20, 59, 61, 75, 77]) assert.deepEqual(at(column), { found: false, skipped: 0 })
  const ordinary = wordsOf(['0123456789'])
  assert.deepEqual(scan(ordinary, `${'x'.repeat(59)}01234\n56789`, () => assert.fail()).skipped, [])
})

test('a word that contains the line break itself is found in spite of one that may wrap', () => {
  const found: number[] = []
  const words = [...wordsOf([`${'a'.repeat(64)}\nbbbb`]), ...wordsOf(['aaaacccc'], { mayWrap: true })]
  scan(words, `${'a'.repeat(64)}\nbbbb`, (_, length) => found.push(length) > 0)
  assert.deepEqual(found, [69])
})

test('without words nothing is found', () => {
  assert.equal(scan([], 'anything', () => assert.fail()).depth, 0)
})
