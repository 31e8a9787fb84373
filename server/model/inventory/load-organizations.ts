import { loadUsers } from '#access/accounts/load-users.ts'
import type { User } from '#access/accounts/user-schema.ts'
import { anyOf, byId } from '#platform/database/any-of.ts'
import type { Database } from '#platform/database/connect.ts'
import { markStable } from '#platform/http/stable-json.ts'
import { countsBelow, summarize } from './resource-summary.ts'
import type { Organization } from './schemas.ts'

/** Organizations with their owners, in two statements for any number of them. */
export async function loadOrganizations(db: Database, ids: readonly number[]): Promise<Organization[]> {
  const rows = await findOrganizations(db, ids)
  const owners = byId(
    await loadUsers(
      db,
      rows.map((row) => row.owner_id),
    ),
  )
  return rows.map((row) => presentOrganization(row, owners))
}

export type OrganizationRow = Awaited<ReturnType<typeof findOrganizations>>[number]

export function findOrganizations(db: Database, ids: readonly number[]) {
  return db
    .selectFrom('organizations')
    .selectAll()
    .select((eb) => countsBelow.organization(eb.ref('organizations.id')).as('counts'))
    .where(anyOf('organizations.id', ids))
    .execute()
}

export function presentOrganization(row: OrganizationRow, users: ReadonlyMap<number, User>): Organization {
  return markStable({
    id: row.id,
    name: row.name,
    url_slug: row.url_slug,
    resource_summary: markStable(summarize(row.counts)),
    owner: users.get(row.owner_id)!,
    created_at: row.created_at,
    updated_at: row.updated_at,
  })
}
