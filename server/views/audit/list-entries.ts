import type { Selectable } from 'kysely'
import { loadUsers } from '#access/accounts/load-users.ts'
import type { Caller } from '#access/authorization/caller.ts'
import { seesHookSecrets } from '#access/authorization/token-limits.ts'
import { byId } from '#platform/database/any-of.ts'
import type { Database } from '#platform/database/connect.ts'
import type { Tables } from '#platform/database/tables.ts'
import type { Extent, Page } from '#platform/http/pagination.ts'
import { readLargePage } from '#platform/http/read-large-page.ts'
import { type AuditSelection, selectEntries } from './filters.ts'
import { maskReceivers } from './mask-receivers.ts'
import type { AuditEntry } from './schemas.ts'

/** One page of entries, newest first. */
export async function listEntries(
  db: Database,
  caller: Caller,
  selection: AuditSelection,
  page: Page,
): Promise<{ items: AuditEntry[]; extent: Extent }> {
  const { rows, extent } = await readLargePage(db, selectEntries(db, selection), page)
  return { items: await presentEntries(db, caller, rows), extent }
}

/** What belongs to a hook is shown as its page shows it to the caller. */
export async function presentEntries(
  db: Database,
  caller: Caller,
  rows: readonly Selectable<Tables['audit_entries']>[],
): Promise<AuditEntry[]> {
  const users = byId(
    await loadUsers(
      db,
      rows.flatMap((row) => row.user_id ?? []),
    ),
  )
  return rows.map(({ user_id, position: _, ...row }) => {
    const entry = { ...row, user: users.get(user_id ?? 0) ?? null }
    const { organization_id } = entry
    const seesHooks = organization_id !== null && seesHookSecrets(caller, { organization_id })
    return seesHooks ? entry : maskReceivers(entry)
  })
}
