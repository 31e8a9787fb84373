import type { Selectable } from 'kysely'
import { loadUsers } from '#access/accounts/load-users.ts'
import type { Caller } from '#access/authorization/caller.ts'
import { seesHookSecrets } from '#access/authorization/token-limits.ts'
import { withoutTexts } from '#model/hooks/present-hook.ts'
import { byId } from '#platform/database/any-of.ts'
import type { Database } from '#platform/database/connect.ts'
import type { Tables } from '#platform/database/tables.ts'
import type { Page } from '#platform/http/pagination.ts'
import { readLargePage } from '#platform/http/read-large-page.ts'
import { maskPath } from '#platform/masking/masked.ts'
import { type AuditSelection, selectEntries } from './filters.ts'
import type { AuditEntry } from './schemas.ts'

/** One page of entries, newest first. */
export async function listEntries(db: Database, caller: Caller, selection: AuditSelection, page: Page) {
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

type Values = Record<string, unknown> | null
type Entry = { subject_type: string; before: Values; after: Values }

/** An entry as it is shown to people who do not see the URLs of hooks: no receiver, and nothing of what is sent. Pure. */
function maskReceivers<Shown extends Entry>(entry: Shown): Shown {
  if (!entry.subject_type.endsWith('_hook')) return entry
  return { ...entry, before: maskHook(entry.before), after: maskHook(entry.after) }
}

function maskHook(values: Values): Values {
  if (values === null) return null
  const { target_url: url, settings } = values
  return {
    ...values,
    ...(typeof url === 'string' && { target_url: maskPath(url) }),
    ...(typeof settings === 'object' && settings !== null && { settings: withoutTexts(settings as never) }),
  }
}
