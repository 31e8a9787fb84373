import { loadUsers } from '#access/accounts/load-users.ts'
import { byId } from '#platform/database/any-of.ts'
import type { Database } from '#platform/database/connect.ts'
import { COUNT_LIMIT, type Extent, type Page } from '#platform/http/pagination.ts'
import type { AuditEntry } from './schemas.ts'

export type AuditFilters = {
  userId?: number
  subjectType?: string
  verb?: string
  createdAfter?: string
  createdBefore?: string
}

/** What happened in an organization, newest first. */
export async function listEntries(
  db: Database,
  organizationId: number,
  filters: AuditFilters,
  page: Page,
): Promise<{ items: AuditEntry[]; extent: Extent }> {
  const query = selectEntries(db, organizationId, filters)
  const rows = await query
    .selectAll()
    .orderBy('id', 'desc')
    .limit(page.limit + 1)
    .offset(page.offset)
    .execute()
  const counted = query
    .select('id')
    .limit(COUNT_LIMIT + 1)
    .as('counted')
  const { total } = await db
    .selectFrom(counted)
    .select(({ fn }) => fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow()
  const shown = rows.slice(0, page.limit)
  const users = byId(
    await loadUsers(
      db,
      shown.flatMap((row) => row.user_id ?? []),
    ),
  )
  const items = shown.map(({ organization_id, user_id, ...entry }): AuditEntry => {
    return { ...entry, user: users.get(user_id ?? 0) ?? null }
  })
  return { items, extent: { total, hasMore: rows.length > shown.length } }
}

function selectEntries(db: Database, organizationId: number, filters: AuditFilters) {
  let query = db.selectFrom('audit_entries').where('organization_id', '=', organizationId)
  if (filters.userId !== undefined) query = query.where('user_id', '=', filters.userId)
  if (filters.subjectType !== undefined) query = query.where('subject_type', '=', filters.subjectType)
  if (filters.verb !== undefined) query = query.where('verb', '=', filters.verb)
  if (filters.createdAfter !== undefined) query = query.where('occurred_at', '>=', filters.createdAfter)
  if (filters.createdBefore !== undefined) query = query.where('occurred_at', '<', filters.createdBefore)
  return query
}
