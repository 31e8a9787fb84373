import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type CountedRuns, summarizeDays } from './run-days.ts'

const options = { today: '2026-03-01', days: 3, classRatio: 1.02 }

test('every day is present, oldest first, even those without runs', () => {
  const counted: CountedRuns[] = [
    { day: '2026-02-28', status: 'failed', duration_class: 0, runs: 2 },
    { day: '2026-02-28', status: 'skipped', duration_class: 0, runs: 3 },
  ]
  const nothing = { completed: 0, failed: 0, skipped: 0, median_duration_seconds: null }
  assert.deepEqual(summarizeDays(counted, options), [
    { date: '2026-02-27', ...nothing },
    { date: '2026-02-28', ...nothing, failed: 2, skipped: 3 },
    { date: '2026-03-01', ...nothing },
  ])
})

test('earlier days are left out', () => {
  const counted: CountedRuns[] = [{ day: '2026-02-26', status: 'completed', duration_class: 0, runs: 1 }]
  assert.ok(summarizeDays(counted, options).every(({ completed }) => completed === 0))
})

test('the median is accurate to about 1 %', () => {
  fc.assert(
    fc.property(
      fc.array(fc.double({ min: 0.001, max: 86_400, noNaN: true }), { minLength: 1 }),
      (seconds) => {
        const counted = seconds.map(
          (one): CountedRuns => ({
            day: '2026-03-01',
            status: 'completed',
            duration_class: Math.round(Math.log(one) / Math.log(1.02)),
            runs: 1,
          }),
        )
        const middle = seconds.toSorted((a, b) => a - b)[Math.ceil(seconds.length / 2) - 1]!
        const median = summarizeDays(counted, options).at(-1)!.median_duration_seconds!
        assert.ok(Math.abs(median / middle - 1) < 0.016, `${median} for ${middle}`)
      },
    ),
  )
})
