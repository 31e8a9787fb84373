import { sql } from 'kysely'
import { loadUsers } from '#accounts/load-users.ts'
import { anyOf, byId } from '#database/any-of.ts'
import type { Database } from '#database/connect.ts'
import { markStable } from '#http/stable-json.ts'
import { ENVIRONMENT_TYPES } from '../vocabulary.ts'
import { countsBelow, summarize } from './resource-summary.ts'
import type { Environment, Organization, Project } from './schemas.ts'

/** Environments with their projects, organizations and people, in four statements for any number of them. */
export async function loadEnvironments(db: Database, ids: readonly number[]): Promise<Environment[]> {
  const environments = await db
    .selectFrom('environments')
    .selectAll()
    .select((eb) => countsBelow.environment(eb.ref('environments.id')).as('counts'))
    .where(anyOf('environments.id', ids))
    .execute()
  const projects = await db
    .selectFrom('projects')
    .selectAll()
    .select((eb) => [
      countsBelow.project(eb.ref('projects.id')).as('counts'),
      sql<
        string[]
      >`array(select distinct s.login_name from servers s join environments e on e.id = s.environment_id
        where e.project_id = ${eb.ref('projects.id')} and s.login_name is not null order by 1)`.as(
        'os_users',
      ),
    ])
    .where(
      anyOf(
        'projects.id',
        environments.map((row) => row.project_id),
      ),
    )
    .execute()
  const organizations = await db
    .selectFrom('organizations')
    .selectAll()
    .select((eb) => countsBelow.organization(eb.ref('organizations.id')).as('counts'))
    .where(
      anyOf(
        'organizations.id',
        projects.map((row) => row.organization_id),
      ),
    )
    .execute()
  const people = [...projects.map((row) => row.created_by), ...organizations.map((row) => row.owner_id)]
  const users = byId(await loadUsers(db, people))

  const organizationsById = byId(
    organizations.map(
      (row): Organization =>
        markStable({
          id: row.id,
          name: row.name,
          url_slug: row.url_slug,
          resource_summary: markStable(summarize(row.counts)),
          owner: users.get(row.owner_id)!,
          created_at: row.created_at,
          updated_at: row.updated_at,
        }),
    ),
  )
  const projectsById = byId(
    projects.map(
      (row): Project => ({
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
      }),
    ),
  )
  return environments.map(
    (row): Environment => ({
      id: row.id,
      type: row.type,
      type_human_readable: ENVIRONMENT_TYPES[row.type],
      name: row.name,
      description: row.description,
      used_credits: 0,
      resource_summary: markStable(summarize(row.counts)),
      created_at: row.created_at,
      updated_at: row.updated_at,
      archived_at: row.archived_at,
      project: projectsById.get(row.project_id)!,
    }),
  )
}
