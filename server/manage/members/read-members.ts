import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import { loadUsers } from '#access/accounts/load-users.ts'
import { byId } from '#platform/database/any-of.ts'
import type { Database } from '#platform/database/connect.ts'
import type { Extent, Page } from '#platform/http/pagination.ts'
import { selectGrants } from './grants.ts'
import type { Grant, Member } from './schemas.ts'

/** `row_version` changes with every change of the member's grants. */
export type MemberRow = Member & { row_version: string }

/** Of an organization, the newest first. `name` filters by a part of the name or email, ignoring case. */
export async function listMembers(
  db: Database,
  organizationId: number,
  name: string | undefined,
  page: Page,
): Promise<{ rows: MemberRow[]; extent: Extent }> {
  const isNamed =
    name === undefined
      ? sql`true`
      : sql`position(lower(${name}) in lower(u.name)) > 0 or position(lower(${name}) in lower(u.email)) > 0`
  const { rows } = await sql<{ user_id: number }>`
    select g.user_id from grants g join users u on u.id = g.user_id
    where g.organization_id = ${organizationId} and (${isNamed})
    group by g.user_id order by min(g.id) desc`.execute(db)
  const ids = rows.map((row) => row.user_id)
  const shown = ids.slice(page.offset, page.offset + page.limit)
  const hasMore = page.offset + shown.length < ids.length && shown.length > 0
  return { rows: await loadMembers(db, organizationId, shown), extent: { total: ids.length, hasMore } }
}

export async function findMember(db: Database, organizationId: number, userId: number) {
  return (await loadMembers(db, organizationId, [userId]))[0]
}

export function versionOf(grants: readonly { id: number }[]): string {
  const ids = grants.map(({ id }) => id).sort((one, other) => one - other)
  return createHash('sha256').update(ids.join()).digest('hex').slice(0, 16)
}

/** In the order of the ids, without those who are not members. */
async function loadMembers(
  db: Database,
  organizationId: number,
  userIds: readonly number[],
): Promise<MemberRow[]> {
  const users = byId(await loadUsers(db, userIds))
  const grants = Map.groupBy(await selectGrants(db, organizationId, userIds), ({ user_id }) => user_id)
  return userIds.flatMap((user_id): MemberRow[] => {
    const user = users.get(user_id)
    const held = (grants.get(user_id) ?? []).map(presentGrant)
    if (!user || held.length === 0) return []
    return [
      {
        user_id,
        user,
        grants: held,
        has_joined: true,
        invitation_expires_at: null,
        invitation_url: null,
        row_version: versionOf(held),
      },
    ]
  })
}

function presentGrant(row: Awaited<ReturnType<typeof selectGrants>>[number]): Grant {
  const { id, built_in_role: role, role_id, project_id, environment_id, source, created_at } = row
  const role_name = row.role_name ?? role!
  return { id, role, role_id, role_name, project_id, environment_id, source, created_at }
}
