// "Redeliver all failed since …": the time that a choice means. Pure.

export const RANGES = [
  { value: '1', label: 'Last hour' },
  { value: '24', label: 'Last 24 hours' },
  { value: '168', label: 'Last 7 days' },
  { value: 'custom', label: 'Since a time of your choice' },
] as const

const HOUR_MS = 3_600_000

/** `custom` is the value of a datetime-local input, in the person's time zone. Undefined while it is no time. */
export function rangeStart(range: string, custom: string, now: number): string | undefined {
  const start = range === 'custom' ? Date.parse(custom) : now - Number(range) * HOUR_MS
  return Number.isNaN(start) || start >= now ? undefined : new Date(start).toISOString()
}

/** For a datetime-local input. */
export function localTime(at: number): string {
  const date = new Date(at)
  return new Date(at - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}
