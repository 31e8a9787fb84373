import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { beginning, type Progress, readProgress, roomForTargets, writeProgress } from './progress.ts'
import { EVERYTHING, type Ranges, without } from './ranges.ts'

const id = fc.integer({ min: 0, max: 2 ** 40 })

const someProgress = fc
  .record({
    actionId: fc.integer({ min: 1, max: 2 ** 40 }),
    eventId: id,
    done: fc.uniqueArray(fc.integer({ min: 1, max: 50 })),
    open: fc.uniqueArray(fc.tuple(fc.integer({ min: 51, max: 99 }), id, fc.array(id, { maxLength: 8 })), {
      selector: ([position]) => position,
    }),
  })
  .map(
    ({ done, open, ...numbers }): Progress => ({
      ...numbers,
      undone: done.reduce<Ranges>((ranges, position) => without(ranges, position), EVERYTHING),
      open: new Map(open.map(([position, moveId, offsets]) => [position, { moveId, offsets }])),
      isOver: false,
    }),
  )

test('progress can be written down and read again', () => {
  fc.assert(
    fc.property(someProgress, (progress) => {
      assert.deepEqual(readProgress(writeProgress(progress)), progress)
    }),
  )
})

test('it is short: numbers to the base 36, done targets as ranges', () => {
  const progress = beginning(36)
  assert.equal(writeProgress(progress), '10~0')
  progress.eventId = 72
  progress.open.set(4, { moveId: 37, offsets: [10, 0, 100] })
  for (const position of [1, 2, 3, 9]) progress.undone = without(progress.undone, position)
  assert.equal(writeProgress(progress), '10~20~1-3~9~4:11.a.0.2s')
  progress.isOver = true
  assert.equal(writeProgress(progress), '10~20~END')
  assert.equal(readProgress('10~20~END')?.isOver, true)
})

test('a step without output between steps with output counts as 0', () => {
  const progress = beginning(1)
  const offsets: number[] = []
  offsets[2] = 5
  progress.open.set(1, { moveId: 1, offsets })
  assert.equal(writeProgress(progress), '1~0~1:1.0.0.5')
})

test('with as many targets and steps as there may be, it fits into a header', () => {
  for (const steps of [1, 6, 20, 100, 900]) {
    const progress = beginning(2 ** 40)
    progress.eventId = 2 ** 40
    for (let number = 1; number <= roomForTargets(steps); number++) {
      // Every other target is done: the most ranges that there can be.
      progress.undone = without(progress.undone, number * 2 + 20_000)
      progress.open.set(number * 2 + 20_001, {
        moveId: 2 ** 40,
        offsets: Array(steps).fill(10 * 2 ** 20 + 1_000),
      })
    }
    const text = writeProgress(progress)
    assert.ok(text.length < 6_100, `${steps} steps: ${text.length}`)
    assert.deepEqual(readProgress(text), progress)
  }
})

test('a text of any other form is refused', () => {
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
  for (const text of wrong) assert.equal(readProgress(text), undefined, text)
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...'01z~:.-END') }), (text) => void readProgress(text)),
  )
})
