import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { decodeUnseen, encodeUnseen, expireGaps, lastSeen, type Marks } from './feed-cursor.ts'
import { EVERYTHING, minus, NO_END, overlap, type Ranges, without } from './ranges.ts'

test('a feed position survives encoding and decoding', () => {
  const seen = fc.uniqueArray(fc.integer({ min: 1, max: 60 }), { maxLength: 25 })
  fc.assert(
    fc.property(seen, (ids) => {
      const unseen = ids.reduce<Ranges>((ranges, id) => without(ranges, id), EVERYTHING)
      assert.deepEqual(decodeUnseen(encodeUnseen(unseen)), unseen)
      assert.equal(lastSeen(unseen), Math.max(0, ...ids))
    }),
  )
})

test('it reads as the last id and the gaps below it', () => {
  assert.equal(encodeUnseen(EVERYTHING), '0')
  const gaps: Ranges = [
    [3, 3],
    [6, 8],
    [10, NO_END],
  ]
  assert.equal(encodeUnseen(gaps), '9.3.6-8')
})

test('with too many gaps to name, some events are repeated and none is omitted', () => {
  const odd = Array.from({ length: 500 }, (_, index) => index * 2 + 1)
  const unseen = odd.reduce<Ranges>((ranges, id) => without(ranges, id), EVERYTHING)
  const text = encodeUnseen(unseen)
  assert.ok(text.length < 200)
  const read = decodeUnseen(text)!
  assert.deepEqual(overlap(read, unseen), unseen)
  assert.deepEqual(minus(unseen, read), [])
})

test('text in any other format is rejected', () => {
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
  for (const text of wrong) assert.equal(decodeUnseen(text), undefined, text.slice(0, 40))
  fc.assert(
    fc.property(fc.string(), (text) => {
      const read = decodeUnseen(text)
      if (read) assert.equal(encodeUnseen(read), text)
    }),
  )
})

const UNSEEN: Ranges = [
  [3, 4],
  [8, 8],
  [10, NO_END],
]

const at = (ms: number) => ({ beganAt: ms, endedAt: ms })

test('a gap expires once its transaction must have ended', () => {
  const marks: Marks = [{ at: 0, last: 5 }]
  assert.deepEqual(expireGaps(UNSEEN, marks, at(69_999)).unseen, UNSEEN)
  assert.deepEqual(expireGaps(UNSEEN, marks, at(70_000)).unseen, [
    [8, 8],
    [10, NO_END],
  ])
})

test('a gap that was seen later expires later', () => {
  let marks: Marks = []
  let unseen: Ranges = [
    [3, 4],
    [6, NO_END],
  ]
  for (let ms = 0; ms <= 100_000; ms += 1_000) {
    if (ms === 30_000) unseen = [...unseen.slice(0, -1), [8, 8], [10, NO_END]]
    ;({ unseen, marks } = expireGaps(unseen, marks, at(ms)))
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

test('events to come never expire', () => {
  const marks: Marks = [{ at: 0, last: 9 }]
  assert.deepEqual(expireGaps(UNSEEN, marks, at(1_000_000)).unseen, [[10, NO_END]])
})

test('a slow read marks when it ended, and expires gaps by when it began', () => {
  const { marks } = expireGaps(UNSEEN, [], { beganAt: 0, endedAt: 20_000 })
  assert.deepEqual(marks, [{ at: 20_000, last: 9 }])
  assert.deepEqual(expireGaps(UNSEEN, marks, { beganAt: 89_999, endedAt: 120_000 }).unseen, UNSEEN)
})
