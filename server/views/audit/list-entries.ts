import { loadUsers } from '#access/accounts/load-users.ts'
import { byId } from '#platform/database/any-of.ts'
import type { Database } from '#platform/database/connect.ts'
import type { Extent, Page } from '#platform/http/pagination.ts'
import { readLargePage } from '#platform/http/read-large-page.ts'
import type { AuditEntry } from './schemas.ts'

/** The query parameters that filter entries: which column each compares, and how. */
const CONDITIONS = {
  'filter[user_id]': ['user_id', '='],
  'filter[subject_type]': ['subject_type', '='],
  'filter[verb]': ['verb', '='],
  'filter[created_after]': ['occurred_at', '>='],
  'filter[created_before]': ['occurred_at', '<'],
} as const

type AuditFilter = keyof typeof CONDITIONS

/** The audit entries of an organization, newest first. */
export async function listEntries(
  db: Database,
  organizationId: number,
  filters: { [Name in AuditFilter]?: string | number },
  page: Page,
): Promise<{ items: AuditEntry[]; extent: Extent }> {
  let query = db.selectFrom('audit_entries').selectAll().where('organization_id', '=', organizationId)
  for (const name of Object.keys(CONDITIONS) as AuditFilter[]) {
    const [column, operator] = CONDITIONS[name]
    const value = filters[name]
    if (value !== undefined) query = query.where(column, operator, value)
  }
  const { rows, extent } = await readLargePage(db, query, page)
  const userIds = rows.flatMap((row) => row.user_id ?? [])
  const users = byId(await loadUsers(db, userIds))
  const items = rows.map(({ organization_id, user_id, ...entry }): AuditEntry => {
    return { ...entry, user: users.get(user_id ?? 0) ?? null }
  })
  return { items, extent }
}
