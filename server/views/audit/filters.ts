import type { Database } from '#platform/database/connect.ts'
import * as t from '#platform/http/schemas.ts'

const word = (description: string) =>
  t.Text({
    pattern: '^[a-z _-]{1,60}$',
    'x-hint': 'must consist of lowercase letters, spaces, _ or -',
    description,
  })
const time = (description: string) =>
  t.Text({
    format: 'date-time',
    pattern: '^(000[1-9]|00[1-9][0-9]|0[1-9][0-9]{2}|[1-9][0-9]{3})-[0-9-]{5}T[0-9:.]+Z$',
    'x-hint': 'must be a UTC time such as 2026-11-15T08:00:00Z',
    description,
  })

export const filterQuery = t.optionalFields({
  'filter[user_id]': t.described(t.Id, 'The user who did it.'),
  'filter[subject_type]': word('The type of resource, such as `project`.'),
  'filter[verb]': word('What was done, such as `removed`.'),
  'filter[created_after]': time('UTC time, inclusive.'),
  'filter[created_before]': time('UTC time, exclusive.'),
})

/** Which column each filter compares, and how. */
const CONDITIONS = {
  'filter[user_id]': ['user_id', '='],
  'filter[subject_type]': ['subject_type', '='],
  'filter[verb]': ['verb', '='],
  'filter[created_after]': ['occurred_at', '>='],
  'filter[created_before]': ['occurred_at', '<'],
} as const

type AuditFilter = keyof typeof CONDITIONS

/** `organizationId` null: the entries of all organizations, and of accounts. */
export type AuditSelection = {
  organizationId: number | null
  filters: { [Name in AuditFilter]?: string | number }
}

export function selectEntries(db: Database, { organizationId, filters }: AuditSelection) {
  let query = db.selectFrom('audit_entries').selectAll()
  if (organizationId !== null) query = query.where('organization_id', '=', organizationId)
  for (const name of Object.keys(CONDITIONS) as AuditFilter[]) {
    const [column, operator] = CONDITIONS[name]
    const value = filters[name]
    if (value !== undefined) query = query.where(column, operator, value)
  }
  return query
}
