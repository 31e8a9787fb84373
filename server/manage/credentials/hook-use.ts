import { sql } from 'kysely'
import type { Caller } from '#access/authorization/caller.ts'
import { can, type Scope } from '#access/authorization/permissions.ts'
import { anyOf } from '#platform/database/any-of.ts'
import type { Database } from '#platform/database/connect.ts'

export type HookUse = Scope & { credential_id: number; id: string; name: string; pipeline_id: number }

/** The outgoing hooks that name one of these credentials, by name. */
export async function loadHookUses(db: Database, credentialIds: readonly number[]): Promise<HookUse[]> {
  if (credentialIds.length === 0) return []
  const { rows } = await sql<HookUse>`
    select h.credential_id, h.id, h.name, h.pipeline_id, p.organization_id, e.project_id, h.environment_id
    from hooks h join environments e on e.id = h.environment_id join projects p on p.id = e.project_id
    where ${anyOf('h.credential_id', credentialIds)} and h.deleted_at is null
    order by h.name, h.id`.execute(db)
  return rows
}

/** By credential, what the caller may see of them. */
export async function loadVisibleHookUses(db: Database, caller: Caller, credentialIds: readonly number[]) {
  const uses = await loadHookUses(db, credentialIds)
  return Map.groupBy(
    uses.filter((use) => can(caller, 'hook:view', use)),
    (use) => use.credential_id,
  )
}
