const UNITS: [unit: string, seconds: number][] = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
  ['s', 1],
]

/** '2 min ago'; in a pipe the time itself. */
export function ago(time: string | null, now = Date.now()): string {
  if (time === null) return ''
  const seconds = Math.max(0, Math.round((now - Date.parse(time)) / 1_000))
  if (seconds < 5) return 'just now'
  const [unit, size] = UNITS.find(([, length]) => seconds >= length)!
  return `${Math.floor(seconds / size)} ${unit} ago`
}

/** '1 h 5 min', '12 s', '250 ms': the two largest units. */
export function duration(seconds: number): string {
  if (seconds > 0 && seconds < 1) return `${Math.round(seconds * 1_000)} ms`
  const whole = Math.max(0, Math.round(seconds))
  const first = UNITS.findIndex(([, length]) => whole >= length)
  if (first === -1) return '0 s'
  const parts = UNITS.slice(first, first + 2).map(([unit, size], n) => {
    const larger = n === 0 ? Number.POSITIVE_INFINITY : UNITS[first]![1]
    return [Math.floor((whole % larger) / size), unit] as const
  })
  return parts
    .filter(([count]) => count > 0)
    .map(([count, unit]) => `${count} ${unit}`)
    .join(' ')
}

/** How long something has taken so far, or took; nothing when it has not started. */
export function took(
  { started_at, completed_at }: { started_at: string | null; completed_at: string | null },
  now = Date.now(),
): string {
  if (started_at === null) return ''
  const ms = (completed_at === null ? now : Date.parse(completed_at)) - Date.parse(started_at)
  return ms <= 0 ? '0 ms' : duration(ms / 1_000)
}

const SECONDS: Record<string, number> = { s: 1, m: 60, h: 3_600, d: 86_400 }

/** '30m' → 1800; a number alone is seconds; null when it is neither. */
export function parseSeconds(text: string): number | null {
  const [, count, unit = 's'] = /^(\d{1,8})\s*([smhd])?$/.exec(text.trim()) ?? []
  return count === undefined ? null : Number(count) * SECONDS[unit]!
}
