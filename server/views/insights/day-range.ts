import type { ErrorsByField } from '#platform/http/validation.ts'
import type { DayRange } from './compute-insights.ts'

export const DEFAULT_DAYS = 30
export const MAX_DAYS = 366

const DAY_MS = 24 * 60 * 60 * 1_000
const NOT_A_DAY = 'must be a day such as 2026-11-18'

/** The days that a request asks for, both included; by default the last 30. Pure. */
export function dayRangeOf(
  query: { from?: string; to?: string },
  today: string,
): { kind: 'range'; range: DayRange } | { kind: 'invalid'; errors: ErrorsByField } {
  const errors: ErrorsByField = {}
  for (const name of ['from', 'to'] as const) {
    const day = query[name]
    if (day !== undefined && !isDay(day)) errors[name] = [NOT_A_DAY]
  }
  if (Object.keys(errors).length > 0) return { kind: 'invalid', errors }
  const to = query.to ?? today
  const from = query.from ?? firstDay(to)
  const days = (Date.parse(to) - Date.parse(from)) / DAY_MS + 1
  if (days < 1) {
    const error = query.to === undefined ? 'must not be after today' : 'must not be after `to`'
    return { kind: 'invalid', errors: { from: [error] } }
  }
  if (days > MAX_DAYS) {
    const error = `must be at most ${MAX_DAYS} days before the end of the range, which is ${to}`
    return { kind: 'invalid', errors: { from: [error] } }
  }
  return { kind: 'range', range: { from, to } }
}

/** Years have four digits, and the first of them is one that the database knows. */
function isDay(text: string): boolean {
  if (!/^\d{4}-\d\d-\d\d$/.test(text) || text < '0001-02-01') return false
  const time = Date.parse(text)
  // Date reads February 30 as March 2.
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(text)
}

function firstDay(to: string): string {
  return new Date(Date.parse(to) - (DEFAULT_DAYS - 1) * DAY_MS).toISOString().slice(0, 10)
}
