import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dayRangeOf } from './day-range.ts'

const TODAY = '2026-11-18'
const rangeOf = (from?: string, to?: string) => {
  const asked = dayRangeOf({ from, to }, TODAY)
  return asked.kind === 'range' ? `${asked.range.from} ${asked.range.to}` : asked.errors
}

test('a range is the last 30 days unless the request says otherwise', () => {
  assert.equal(rangeOf(), '2026-10-20 2026-11-18')
  assert.equal(rangeOf('2026-11-18'), '2026-11-18 2026-11-18')
  assert.equal(rangeOf(undefined, '2024-03-01'), '2024-02-01 2024-03-01')
  assert.equal(rangeOf('2026-01-01', '2026-01-02'), '2026-01-01 2026-01-02')
})

test('a range has at most 366 days, and does not end before it begins', () => {
  assert.equal(rangeOf('2024-01-01', '2024-12-31'), '2024-01-01 2024-12-31')
  assert.deepEqual(rangeOf('2024-01-01', '2025-01-01'), {
    from: ['must be at most 366 days before the end of the range, which is 2025-01-01'],
  })
  assert.deepEqual(rangeOf('2026-01-02', '2026-01-01'), { from: ['must not be after `to`'] })
  assert.deepEqual(rangeOf('2026-11-19'), { from: ['must not be after today'] })
})

test('what is not a day is named', () => {
  const problem = ['must be a day such as 2026-11-18']
  for (const text of [
    '',
    'today',
    '2026-02-30',
    '2026-2-3',
    '2026-11-18T00:00:00Z',
    '02026-11-18',
    '0000-01-01',
  ])
    assert.deepEqual(rangeOf(text, '2026-13-01'), { from: problem, to: problem }, text)
})
