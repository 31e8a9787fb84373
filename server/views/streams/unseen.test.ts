import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { EVERYTHING, minus, NO_END, overlap, type Ranges, without } from './ranges.ts'
import { lastSeen, readUnseen, writeUnseen } from './unseen.ts'

test('what was not sent can be written down and read again', () => {
  const seen = fc.uniqueArray(fc.integer({ min: 1, max: 60 }), { maxLength: 25 })
  fc.assert(
    fc.property(seen, (ids) => {
      const unseen = ids.reduce<Ranges>((ranges, id) => without(ranges, id), EVERYTHING)
      assert.deepEqual(readUnseen(writeUnseen(unseen)), unseen)
      assert.equal(lastSeen(unseen), Math.max(0, ...ids))
    }),
  )
})

test('it reads as the last id and the gaps below it', () => {
  assert.equal(writeUnseen(EVERYTHING), '0')
  const gaps: Ranges = [
    [3, 3],
    [6, 8],
    [10, NO_END],
  ]
  assert.equal(writeUnseen(gaps), '9.3.6-8')
})

test('with too many gaps to name, some are sent again and none is left out', () => {
  const odd = Array.from({ length: 500 }, (_, index) => index * 2 + 1)
  const unseen = odd.reduce<Ranges>((ranges, id) => without(ranges, id), EVERYTHING)
  const text = writeUnseen(unseen)
  assert.ok(text.length < 200)
  const read = readUnseen(text)!
  assert.deepEqual(overlap(read, unseen), unseen)
  assert.deepEqual(minus(unseen, read), [])
})

test('a text of any other form is refused', () => {
  const wrong = [
    '',
    ' ',
    'x',
    '-1',
    '01',
    '1.',
    '.1',
    '5.3-2',
    '5.0',
    '5.6',
    '5.5',
    '5.3.3',
    '5.3.4',
    '5.4.2',
    '9.2-4.3-5',
    '9007199254740992',
    '9007199254740991',
    '9.1-9007199254740993',
    '1e3',
    '1.1~1',
    `99999${'.1'.repeat(33)}`,
    '9'.repeat(10_000),
  ]
  for (const text of wrong) assert.equal(readUnseen(text), undefined, text.slice(0, 40))
  fc.assert(
    fc.property(fc.string(), (text) => {
      const read = readUnseen(text)
      if (read) assert.equal(writeUnseen(read), text)
    }),
  )
})
