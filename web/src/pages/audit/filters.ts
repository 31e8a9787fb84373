// What the audit page shows, as the URL says. Pure.

export type AuditFilters = {
  /** Every organization, and accounts; for instance administrators. */
  isEverything: boolean
  person: string
  kind: string
  verb: string
  period: string
  /** Days, such as 2026-11-15, in the time zone of the browser. */
  from: string
  to: string
  page: number
}

export const PERIODS = [
  { value: '', label: 'Any time' },
  { value: '1h', label: 'Last hour' },
  { value: '24h', label: 'Last 24 hours' },
  { value: '7d', label: 'Last 7 days' },
  { value: '30d', label: 'Last 30 days' },
  { value: 'days', label: 'Between two days…' },
]

/** Empty values, which clear every filter. */
export const NO_FILTERS = { person: '', kind: '', verb: '', period: '', from: '', to: '', page: '' }

/** Invalid parameters are ignored rather than rejected. */
export function readAuditFilters(search: URLSearchParams): AuditFilters {
  const text = (name: string, pattern: RegExp) => {
    const value = search.get(name) ?? ''
    return pattern.test(value) ? value : ''
  }
  const page = Number(search.get('page'))
  const period = text('period', /^(1h|24h|7d|30d|days)$/)
  return {
    isEverything: search.get('all') === '1',
    person: text('person', /^[1-9]\d{0,15}$/),
    kind: text('kind', /^[a-z_-]{1,60}$/),
    verb: text('verb', /^[a-z _-]{1,60}$/),
    period,
    from: period === 'days' ? day(search.get('from')) : '',
    to: period === 'days' ? day(search.get('to')) : '',
    page: Number.isSafeInteger(page) && page > 0 ? page : 1,
  }
}

function day(text: string | null): string {
  if (text === null || !/^\d{4}-\d{2}-\d{2}$/.test(text)) return ''
  return Number.isNaN(Date.parse(`${text}T00:00`)) ? '' : text
}

export function isFiltered({ person, kind, verb, period }: AuditFilters): boolean {
  return [person, kind, verb, period].some((filter) => filter !== '')
}

const MINUTE_MS = 60_000
const HOURS: Record<string, number> = { '1h': 1, '24h': 24, '7d': 7 * 24, '30d': 30 * 24 }

/** What list and export take. Times are rounded to minutes, so that a page that renders again asks for the same. */
export function toAuditQuery({ person, kind, verb, period, from, to }: AuditFilters, now: number) {
  const hours = HOURS[period]
  const since = hours && now - (now % MINUTE_MS) - hours * 60 * MINUTE_MS
  const after = since ? new Date(since) : from ? startOf(from, 0) : undefined
  const before = to ? startOf(to, 1) : undefined
  return {
    ...(person && { 'filter[user_id]': Number(person) }),
    ...(kind && { 'filter[subject_type]': kind }),
    ...(verb && { 'filter[verb]': verb }),
    ...(after && { 'filter[created_after]': after.toISOString() }),
    ...(before && { 'filter[created_before]': before.toISOString() }),
  }
}

/** The midnight at which this day, or the one after it, begins here. */
function startOf(text: string, after: 0 | 1): Date {
  const date = new Date(`${text}T00:00`)
  date.setDate(date.getDate() + after)
  return date
}

export function exportPath(organizationId: number | null, query: Record<string, string | number>): string {
  const path = organizationId === null ? '/audit/export' : `/organizations/${organizationId}/audit/export`
  const search = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)]))
  return search.size === 0 ? path : `${path}?${search}`
}
