import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TimeOfWeek } from '#platform/database/tables.ts'
import { WEEKDAYS } from '#platform/vocabulary.ts'
import { type FreezeTimes, isEmptyWeek, isTimeZone, windowAt } from './freeze-windows.ts'

const at = (text: string) => Date.parse(text)
const inForce = (freeze: FreezeTimes, text: string) => windowAt(freeze, at(text)) !== null
const once = (starts_at: string, ends_at: string | null): FreezeTimes => ({
  ...{ starts_at, ends_at, weekly: null, time_zone: null },
})
const timeOfWeek = (text: string): TimeOfWeek => {
  const [day, time] = text.split(' ')
  return { day: day as TimeOfWeek['day'], time: time! }
}
const weekly = (from: string, to: string, time_zone = 'Europe/Berlin'): FreezeTimes => ({
  ...{ starts_at: null, ends_at: null, time_zone, weekly: { from: timeOfWeek(from), to: timeOfWeek(to) } },
})
const shown = (freeze: FreezeTimes, text: string) => {
  const window = windowAt(freeze, at(text))
  return window && [window.from, window.until].map((ms) => ms && new Date(ms).toISOString())
}

test('a freeze holds from its start on, and no longer at its end', () => {
  const freeze = once('2026-12-24T00:00:00Z', '2026-12-27T00:00:00Z')
  assert.equal(inForce(freeze, '2026-12-23T23:59:59.999Z'), false)
  assert.equal(inForce(freeze, '2026-12-24T00:00:00Z'), true)
  assert.equal(inForce(freeze, '2026-12-26T23:59:59.999Z'), true)
  assert.equal(inForce(freeze, '2026-12-27T00:00:00Z'), false)
})

test('a freeze without an end holds forever', () => {
  const freeze = once('2026-12-24T00:00:00Z', null)
  assert.deepEqual(shown(freeze, '2999-01-01T00:00:00Z'), ['2026-12-24T00:00:00.000Z', null])
})

test('a weekly freeze follows the clocks of its time zone', () => {
  const weekend = weekly('friday 16:00', 'monday 08:00')
  // Winter: UTC+1.
  assert.equal(inForce(weekend, '2026-01-09T14:59:59Z'), false)
  assert.deepEqual(shown(weekend, '2026-01-09T15:00:00Z'), [
    '2026-01-09T15:00:00.000Z',
    '2026-01-12T07:00:00.000Z',
  ])
  assert.equal(inForce(weekend, '2026-01-12T06:59:59Z'), true)
  assert.equal(inForce(weekend, '2026-01-12T07:00:00Z'), false)
  // Summer: UTC+2.
  assert.equal(inForce(weekend, '2026-07-10T13:59:59Z'), false)
  assert.equal(inForce(weekend, '2026-07-10T14:00:00Z'), true)
  assert.equal(inForce(weekend, '2026-07-13T05:59:59Z'), true)
  assert.equal(inForce(weekend, '2026-07-13T06:00:00Z'), false)
})

test('a freeze over a change of clocks is an hour shorter, or longer', () => {
  const weekend = weekly('friday 16:00', 'monday 08:00')
  assert.deepEqual(shown(weekend, '2026-03-28T12:00:00Z'), [
    '2026-03-27T15:00:00.000Z',
    '2026-03-30T06:00:00.000Z',
  ])
  assert.deepEqual(shown(weekend, '2026-10-24T12:00:00Z'), [
    '2026-10-23T14:00:00.000Z',
    '2026-10-26T07:00:00.000Z',
  ])
})

test('a time that comes twice begins a freeze at the first, and ends it at the second', () => {
  // 02:30 is at 00:30Z and again at 01:30Z.
  assert.equal(
    shown(weekly('sunday 02:30', 'sunday 06:00'), '2026-10-25T02:00:00Z')![0],
    '2026-10-25T00:30:00.000Z',
  )
  assert.equal(
    shown(weekly('saturday 22:00', 'sunday 02:30'), '2026-10-25T01:00:00Z')![1],
    '2026-10-25T01:30:00.000Z',
  )
})

test('a time that is skipped is the moment of the change', () => {
  // From 01:00Z on it is 03:00.
  assert.equal(
    shown(weekly('sunday 02:30', 'sunday 06:00'), '2026-03-29T02:00:00Z')![0],
    '2026-03-29T01:00:00.000Z',
  )
  assert.equal(
    shown(weekly('saturday 22:00', 'sunday 02:30'), '2026-03-29T00:45:00Z')![1],
    '2026-03-29T01:00:00.000Z',
  )
  assert.equal(inForce(weekly('sunday 02:15', 'sunday 02:45'), '2026-03-29T01:00:00Z'), false)
})

test('a gap at midnight does not move a freeze to another day', () => {
  // In Santiago, 2026-09-06 begins at 01:00 (04:00Z).
  const freeze = weekly('sunday 00:30', 'sunday 12:00', 'America/Santiago')
  assert.deepEqual(shown(freeze, '2026-09-06T10:00:00Z'), [
    '2026-09-06T04:00:00.000Z',
    '2026-09-06T15:00:00.000Z',
  ])
  // Still Saturday.
  assert.deepEqual(shown(freeze, '2026-09-06T03:59:00Z'), null)
  assert.deepEqual(shown(freeze, '2026-09-06T04:00:00Z'), shown(freeze, '2026-09-06T10:00:00Z'))
})

test('a freeze may go over the end of the week, and last almost a week', () => {
  const freeze = weekly('sunday 10:00', 'sunday 09:59', 'UTC')
  assert.equal(inForce(freeze, '2026-11-15T09:58:59Z'), true)
  assert.equal(inForce(freeze, '2026-11-15T09:59:00Z'), false)
  assert.equal(inForce(freeze, '2026-11-15T10:00:00Z'), true)
})

test('in every zone, at any time of a year, windows are of one week, and in order', () => {
  for (const zone of ['Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe'])
    for (const [from, to] of [
      ['friday 16:00', 'monday 08:00'],
      ['sunday 01:45', 'sunday 03:15'],
      ['wednesday 00:00', 'tuesday 23:59'],
    ] as const) {
      const freeze = weekly(from, to, zone)
      let last = 0
      for (let time = at('2026-01-01T00:00:00Z'); time < at('2027-01-01T00:00:00Z'); time += 4_500_000) {
        const window = windowAt(freeze, time)
        if (!window) continue
        assert.ok(window.from >= last, `${zone} ${from}`)
        assert.ok(window.until! - window.from <= 7 * 86_400_000 + 7_200_000)
        last = window.from
      }
      assert.ok(last > at('2026-12-20T00:00:00Z'))
    }
})

test('time zones are known by their names, not by offsets', () => {
  for (const zone of ['UTC', 'Europe/Berlin', 'America/Argentina/Buenos_Aires', 'US/Eastern'])
    assert.equal(isTimeZone(zone), true, zone)
  for (const zone of [
    '',
    'Mars/Olympus',
    '+02:00',
    'Europe/Berlin]',
    'Europe/ Berlin',
    '../etc',
    'x'.repeat(300),
  ])
    assert.equal(isTimeZone(zone), false, zone)
})

test('a week from a minute to the same minute is empty', () => {
  for (const day of WEEKDAYS) {
    const one = { day, time: '10:00' }
    assert.equal(isEmptyWeek({ from: one, to: { ...one } }), true)
    assert.equal(isEmptyWeek({ from: one, to: { ...one, time: '10:01' } }), false)
  }
})
