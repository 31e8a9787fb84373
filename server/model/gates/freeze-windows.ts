// The gates room: which gate holds a run, decided from stored facts. Here is when a freeze is in force. Pure; the time
// comes in.
import type { TimeOfWeek, Weekly } from '#platform/database/tables.ts'
import { WEEKDAYS } from '#platform/vocabulary.ts'

// TypeScript's library does not have it yet.
type ZonedDateTime = {
  dayOfWeek: number
  epochMilliseconds: number
  add(duration: { days: number }): ZonedDateTime
  toPlainDate(): { toString(): string }
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
 * The last window that has begun by `at`. Where clocks change, a freeze errs toward holding: of a time that comes twice it
 * begins at the first and ends at the second; of a time that is skipped it begins before, and ends after the gap.
 */
function lastWindow({ weekly, time_zone }: FreezeTimes & { weekly: Weekly }, at: number): Window {
  const { from, to } = weekly
  const now = Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(time_zone)
  const daysAgo = (now.dayOfWeek - 1 - WEEKDAYS.indexOf(from.day) + 7) % 7
  const length = (WEEKDAYS.indexOf(to.day) - WEEKDAYS.indexOf(from.day) + 7) % 7
  const days = length === 0 && to.time <= from.time ? 7 : length
  const windowOf = (first: number): Window => ({
    from: onDay(now, first, from, time_zone, 'earlier'),
    until: onDay(now, first + days, to, time_zone, 'later'),
  })
  // The next one may have begun already, if clocks skip midnight; the last one is still to come, if its day is today.
  const windows = [7 - daysAgo, -daysAgo].map(windowOf)
  return windows.find(({ from }) => from <= at) ?? windowOf(-daysAgo - 7)
}

/** That many days later, at the time of day. */
function onDay(
  day: ZonedDateTime,
  days: number,
  { time }: TimeOfWeek,
  zone: string,
  disambiguation: 'earlier' | 'later',
): number {
  const date = day.add({ days }).toPlainDate().toString()
  return Temporal.ZonedDateTime.from(`${date}T${time}[${zone}]`, { disambiguation }).epochMilliseconds
}
