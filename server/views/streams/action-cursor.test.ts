import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  type ActionCursor,
  decodeCursor,
  encodeCursor,
  maxOpenTargets,
  startCursor,
} from './action-cursor.ts'
import { EVERYTHING, type Ranges, without } from './ranges.ts'

const id = fc.integer({ min: 0, max: 2 ** 40 })

const someCursor = fc
  .record({
    actionId: fc.integer({ min: 1, max: 2 ** 40 }),
    eventId: id,
    done: fc.uniqueArray(fc.integer({ min: 1, max: 50 })),
    open: fc.uniqueArray(fc.tuple(fc.integer({ min: 51, max: 99 }), id, fc.array(id, { maxLength: 8 })), {
      selector: ([position]) => position,
    }),
  })
  .map(
    ({ done, open, ...numbers }): ActionCursor => ({
      ...numbers,
      unfinished: done.reduce<Ranges>((ranges, position) => without(ranges, position), EVERYTHING),
      open: new Map(open.map(([position, moveId, offsets]) => [position, { moveId, offsets }])),
      isEnded: false,
    }),
  )

test('a cursor survives encoding and decoding', () => {
  fc.assert(
    fc.property(someCursor, (cursor) => {
      assert.deepEqual(decodeCursor(encodeCursor(cursor)), cursor)
    }),
  )
})

test('it is short: base-36 numbers, finished targets as ranges', () => {
  const cursor = startCursor(36)
  assert.equal(encodeCursor(cursor), '10~0')
  cursor.eventId = 72
  cursor.open.set(4, { moveId: 37, offsets: [10, 0, 100] })
  for (const position of [1, 2, 3, 9]) cursor.unfinished = without(cursor.unfinished, position)
  assert.equal(encodeCursor(cursor), '10~20~1-3~9~4:11.a.0.2s')
  cursor.isEnded = true
  assert.equal(encodeCursor(cursor), '10~20~END')
  assert.equal(decodeCursor('10~20~END')?.isEnded, true)
})

test('a step without output between steps with output counts as 0', () => {
  const cursor = startCursor(1)
  const offsets: number[] = []
  offsets[2] = 5
  cursor.open.set(1, { moveId: 1, offsets })
  assert.equal(encodeCursor(cursor), '1~0~1:1.0.0.5')
})

test('it fits into a header even with the maximum of open targets and steps', () => {
  for (const steps of [1, 6, 20, 100, 700]) {
    const cursor = startCursor(2 ** 40)
    cursor.eventId = 2 ** 40
    for (let number = 1; number <= maxOpenTargets(steps); number++) {
      // Every other target is finished: the maximum number of ranges.
      cursor.unfinished = without(cursor.unfinished, number * 2 + 20_000)
      cursor.open.set(number * 2 + 20_001, {
        moveId: 2 ** 40,
        offsets: Array(steps).fill(70e9),
      })
    }
    const text = encodeCursor(cursor)
    assert.ok(text.length < 6_100, `${steps} steps: ${text.length}`)
    assert.deepEqual(decodeCursor(text), cursor)
  }
})

test('text in any other format is rejected', () => {
  const wrong = [
    '',
    '1',
    '0~1',
    '~',
    '1~',
    '1~01',
    '1~1~',
    '1~1~0',
    '1~1~3-2',
    '1~1~1-2-3',
    '1~1~-',
    '1~1~1:',
    '1~1~0:1',
    '1~1~1:1:1',
    '1~1~1:1.',
    '1~1~1:1~1:2',
    '1~1~1:-1',
    '1~1~End',
    '1~1~END~1',
    '1~1~1~END',
    '1~A',
    '2gosa7pa2gv~1',
    '1~ 1',
    'zzzzzzzzzzzz~1',
  ]
  for (const text of wrong) assert.equal(decodeCursor(text), undefined, text)
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...'01z~:.-END') }), (text) => void decodeCursor(text)),
  )
})
