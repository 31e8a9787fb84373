// Weekly freezes where clocks change, compared minute by minute with what the clocks on the wall show there.
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { WEEKDAYS } from '#platform/vocabulary.ts'
import { type FreezeTimes, windowAt } from './freeze-windows.ts'

// TypeScript's library does not have it yet.
declare const Temporal: {
  Instant: {
    fromEpochMilliseconds(at: number): {
      toZonedDateTimeISO(zone: string): { dayOfWeek: number; hour: number; minute: number }
    }
  }
}

// When the clocks jump, from what to what, on which days of the week: by an hour, by two, by thirty minutes, over midnight, a minute
// after it, and by a whole day.
const CHANGES = `
  Europe/Berlin        2026-03-29T01:00Z  sunday 02:00    → sunday 03:00
  Europe/Berlin        2026-10-25T01:00Z  sunday 03:00    → sunday 02:00
  America/New_York     2026-03-08T07:00Z  sunday 02:00    → sunday 03:00
  America/New_York     2026-11-01T06:00Z  sunday 02:00    → sunday 01:00
  Australia/Lord_Howe  2026-04-04T15:00Z  sunday 02:00    → sunday 01:30
  Australia/Lord_Howe  2026-10-03T15:30Z  sunday 02:00    → sunday 02:30
  America/Santiago     2026-04-05T03:00Z  sunday 00:00    → saturday 23:00
  America/Santiago     2026-09-06T04:00Z  sunday 00:00    → sunday 01:00
  Africa/Cairo         2026-04-23T22:00Z  friday 00:00    → friday 01:00
  Africa/Cairo         2026-10-29T21:00Z  friday 00:00    → thursday 23:00
  America/Havana       2026-11-01T05:00Z  sunday 01:00    → sunday 00:00
  America/Nuuk         2026-03-29T01:00Z  saturday 23:00  → sunday 00:00
  America/Nuuk         2026-10-25T01:00Z  sunday 00:00    → saturday 23:00
  Antarctica/Troll     2026-03-29T01:00Z  sunday 01:00    → sunday 03:00
  Antarctica/Troll     2026-10-25T01:00Z  sunday 03:00    → sunday 01:00
  America/St_Johns     2010-03-14T03:31Z  sunday 00:01    → sunday 01:01
  America/St_Johns     2010-11-07T02:31Z  sunday 00:01    → saturday 23:01
  Pacific/Apia         2011-12-30T10:00Z  friday 00:00    → saturday 00:00
`

const WEEK = 7 * 1_440
const MINUTE_MS = 60_000
const AROUND = 180

const inWeek = (minute: number) => ((minute % WEEK) + WEEK) % WEEK

/** Minutes since Monday. */
function minuteOf(text: string): number {
  const [day, time] = text.split(' ')
  const [hours, minutes] = time!.split(':').map(Number)
  return WEEKDAYS.indexOf(day as (typeof WEEKDAYS)[number]) * 1_440 + hours! * 60 + minutes!
}

function timeOfWeek(minute: number) {
  const day = WEEKDAYS[Math.floor(minute / 1_440)]!
  const [hours, minutes] = [Math.floor((minute % 1_440) / 60), minute % 60]
  return { day, time: [hours, minutes].map((part) => String(part).padStart(2, '0')).join(':') }
}

function wallAt(at: number, zone: string): number {
  const { dayOfWeek, hour, minute } = Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(zone)
  return (dayOfWeek - 1) * 1_440 + hour * 60 + minute
}

const changes = CHANGES.trim()
  .split('\n')
  .map((line) => {
    const [zone, at, before, after] = line.trim().split(/ {2,}(?:→ )?/)
    const [old, now] = [minuteOf(before!), minuteOf(after!)]
    const forward = inWeek(now - old)
    const isSkipped = forward < WEEK / 2
    /** The times that the clocks skip, or show twice. */
    const [first, length] = isSkipped ? [old, forward] : [now, WEEK - forward]
    return { zone: zone!, at: Date.parse(at!), isSkipped, first, length, name: `${zone} ${at}` }
  })

/** Which of these times are within the freeze, on any day on which clocks do not change. */
const isWithin = (from: number, to: number, wall: number) => inWeek(wall - from) < inWeek(to - from)

const freezeOf = (from: number, to: number, zone: string): FreezeTimes => ({
  ...{ starts_at: null, ends_at: null, time_zone: zone },
  weekly: { from: timeOfWeek(from), to: timeOfWeek(to) },
})

const isHeld = (freeze: FreezeTimes, at: number) => windowAt(freeze, at) !== null

/** From one of the times around a change to another one, and almost a week. */
function freezesAround({ first, length }: { first: number; length: number }): [number, number][] {
  const middle = first + Math.floor(length / 2)
  const times = [first - 30, first, middle, middle + 5, first + length].map(inWeek)
  return times.flatMap((from) => times.filter((to) => to !== from).map((to): [number, number] => [from, to]))
}

test('the table is what the clocks do', () => {
  for (const { zone, at, isSkipped, first, length, name } of changes) {
    const [before, after] = isSkipped ? [first, first + length] : [first + length, first]
    assert.equal(wallAt(at - 1, zone), inWeek(before - 1), name)
    assert.equal(wallAt(at, zone), inWeek(after), name)
  }
})

suite('around a change of clocks, a weekly freeze', () => {
  for (const change of changes)
    test(`${change.name} holds what the clocks say${change.isSkipped ? '' : ', and in between'}`, () => {
      const { zone, at, isSkipped, first, length } = change
      const isTwice = (wall: number) => !isSkipped && inWeek(wall - first) < length
      let extra = 0
      for (const [from, to] of freezesAround(change)) {
        const freeze = freezeOf(from, to, zone)
        const name = JSON.stringify(freeze.weekly)
        // Every begin and end is a multiple of five minutes away.
        for (let minute = -AROUND; minute <= AROUND; minute += minute % 5 === 0 ? 4 : 1) {
          const time = at + minute * MINUTE_MS
          const wall = wallAt(time, zone)
          const held = isHeld(freeze, time)
          if (held === isWithin(from, to, wall)) continue
          const when = `${name} at ${new Date(time).toISOString()}`
          // Never let go of. Held in addition: only times that come twice, if the freeze begins or ends at one of them.
          assert.ok(held, when)
          const last = inWeek(to - 1)
          assert.ok(isTwice(wall) && (isTwice(from) || isTwice(last) || isTwice(to)), when)
          extra += 1
        }
      }
      assert.equal(extra > 0, !isSkipped)
    })
})
