import { sql } from 'kysely'
import { loadUsers } from '#access/accounts/load-users.ts'
import { anyOf, byId } from '#platform/database/any-of.ts'
import type { Database } from '#platform/database/connect.ts'
import { markStable } from '#platform/http/stable-json.ts'
import { findOrganizations, presentOrganization } from './load-organizations.ts'
import { countsBelow, summarize } from './resource-summary.ts'
import type { Project } from './schemas.ts'

/** Projects with their organizations and people, in three statements for any number of them. */
export async function loadProjects(db: Database, ids: readonly number[]): Promise<Project[]> {
  const rows = await findProjects(db, ids)
  const organizations = await findOrganizations(
    db,
    rows.map((row) => row.organization_id),
  )
  const people = [...rows.map((row) => row.created_by), ...organizations.map((row) => row.owner_id)]
  const users = byId(await loadUsers(db, people))
  const organizationsById = byId(organizations.map((row) => presentOrganization(row, users)))
  return rows.map((row) => ({
    id: row.id,
    user_id: row.created_by,
    name: row.name,
    logo_url: row.logo_url,
    resource_summary: markStable(summarize(row.counts)),
    os_users: markStable(row.os_users.map((name) => ({ name }))),
    organization: organizationsById.get(row.organization_id)!,
    created_by_user: users.get(row.created_by)!,
    used_credits: 0,
    created_at: row.created_at,
    updated_at: row.updated_at,
  }))
}

function findProjects(db: Database, ids: readonly number[]) {
  return db
    .selectFrom('projects')
    .selectAll()
    .select((eb) => [
      countsBelow.project(eb.ref('projects.id')).as('counts'),
      sql<
        string[]
      >`array(select distinct s.login_name from servers s join environments e on e.id = s.environment_id
        where e.project_id = ${eb.ref('projects.id')} and s.login_name is not null and s.deleted_at is null
        order by 1)`.as('os_users'),
    ])
    .where(anyOf('projects.id', ids))
    .execute()
}
