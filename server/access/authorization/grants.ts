import { sql } from 'kysely'
import type { Database } from '#platform/database/connect.ts'
import { type GrantRow, toGrant } from './caller.ts'
import type { Grant } from './permissions.ts'

/** What these people may do at this moment, for work that is done in their name; nothing once they are inactive. */
export async function loadGrants(
  db: Database,
  userIds: readonly number[],
): Promise<Map<number, { grants: Grant[] }>> {
  if (userIds.length === 0) return new Map()
  const { rows } = await sql<GrantRow & { user_id: number }>`
    select g.user_id, g.built_in_role, r.permissions, g.organization_id, g.project_id, g.environment_id
    from grants g join users u on u.id = g.user_id left join roles r on r.id = g.role_id
    where g.user_id = any(${userIds}::bigint[]) and u.active`.execute(db)
  const byUser = Map.groupBy(rows, (row) => row.user_id)
  return new Map(
    userIds.map((id) => [
      id,
      { grants: (byUser.get(id) ?? []).map(({ user_id: _, ...row }) => toGrant(row)) },
    ]),
  )
}
