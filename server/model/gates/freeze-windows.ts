// The gates room: which gate holds a run, decided from stored facts. Here is when a freeze is in force. Pure; the time
// comes in.
import type { TimeOfWeek, Weekly } from '#platform/database/tables.ts'
import { WEEKDAYS } from '#platform/vocabulary.ts'

// TypeScript's library does not have it yet.
type PlainDate = { toString(): string; add(duration: { days: number }): PlainDate }
type ZonedDateTime = {
  dayOfWeek: number
  epochMilliseconds: number
  toString(): string
  toPlainDate(): PlainDate
  getTimeZoneTransition(direction: 'next'): ZonedDateTime | null
}
declare const Temporal: {
  Instant: {
    fromEpochMilliseconds(at: number): { toZonedDateTimeISO(zone: string): ZonedDateTime }
  }
  ZonedDateTime: {
    from(text: string, options: { disambiguation: 'earlier' | 'later' }): ZonedDateTime
  }
}

/** When a freeze holds: once, with or without an end, or every week. */
export type FreezeTimes =
  | { starts_at: string; ends_at: string | null; weekly: null; time_zone: null }
  | { starts_at: null; ends_at: null; weekly: Weekly; time_zone: string }

/** From `from` on, until before `until`; null: until someone ends it. Milliseconds. */
export type Window = { from: number; until: number | null }

/** The window that contains `at`; null when the freeze is not in force then. */
export function windowAt(freeze: FreezeTimes, at: number): Window | null {
  const window = freeze.weekly === null ? onceWindow(freeze) : lastWindow(freeze, at)
  return window.from <= at && (window.until === null || at < window.until) ? window : null
}

/** Whether the database's and Node's time zones include it, by its name in the IANA database. */
export function isTimeZone(name: string): boolean {
  // Not an offset: it would not follow the clocks of any place.
  if (!/^[A-Za-z]/.test(name)) return false
  try {
    Temporal.Instant.fromEpochMilliseconds(0).toZonedDateTimeISO(name)
    return true
  } catch {
    return false
  }
}

/** Both are the same minute of the week. */
export function isEmptyWeek({ from, to }: Weekly): boolean {
  return from.day === to.day && from.time === to.time
}

function onceWindow({ starts_at, ends_at }: FreezeTimes & { weekly: null }): Window {
  return { from: Date.parse(starts_at), until: ends_at === null ? null : Date.parse(ends_at) }
}

/**
 * The last window that has begun by `at`. Where clocks change, it holds whatever is within it on the clocks: a time that is
 * skipped is the moment of the change. Of a time that comes twice, it begins at the first and ends at the second, so that
 * it does not let go in between.
 */
function lastWindow({ weekly, time_zone }: FreezeTimes & { weekly: Weekly }, at: number): Window {
  const { from, to } = weekly
  const now = Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(time_zone)
  const daysAgo = (now.dayOfWeek - 1 - WEEKDAYS.indexOf(from.day) + 7) % 7
  const length = (WEEKDAYS.indexOf(to.day) - WEEKDAYS.indexOf(from.day) + 7) % 7
  const days = length === 0 && to.time <= from.time ? 7 : length
  const today = now.toPlainDate()
  const beginOf = (first: number) => onDay(today.add({ days: first }), from, time_zone, 'earlier')
  // The next one may have begun already, if clocks are set back over midnight; the last one is still to come, if its day is today.
  const first = [7 - daysAgo, -daysAgo].find((one) => beginOf(one) <= at) ?? -daysAgo - 7
  return {
    from: beginOf(first),
    until: onDay(today.add({ days: first + days }), to, time_zone, 'later'),
  }
}

/** At the time of day; `which` of the two, if clocks are set back over it. */
function onDay(date: PlainDate, { time }: TimeOfWeek, zone: string, which: 'earlier' | 'later'): number {
  const wall = `${date}T${time}`
  const at = (disambiguation: typeof which) =>
    Temporal.ZonedDateTime.from(`${wall}[${zone}]`, { disambiguation })
  const first = at('earlier')
  // What clocks skip is none of the times before.
  if (!first.toString().startsWith(wall)) return first.getTimeZoneTransition('next')!.epochMilliseconds
  return which === 'earlier' ? first.epochMilliseconds : at('later').epochMilliseconds
}
