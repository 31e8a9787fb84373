import { type Expression, type RawBuilder, sql } from 'kysely'
import { loadUsers } from '#access/accounts/load-users.ts'
import type { User } from '#access/accounts/user-schema.ts'
import { anyOf, byId } from '#platform/database/any-of.ts'
import type { Database } from '#platform/database/connect.ts'
import type { ApprovalTerms, Retention } from '#platform/database/tables.ts'
import { pickFields } from '#platform/http/schemas.ts'
import { ENVIRONMENT_TYPES } from '#platform/vocabulary.ts'
import {
  type Environment,
  environmentSchema,
  type Organization,
  organizationSchema,
  type Project,
  projectSchema,
  type ResourceSummary,
} from './schemas.ts'

// Organizations, projects and environments as the API shows them. The number of statements does not depend on the
// number of rows. Used credits are not part of the tree (see actions/used-credits.ts).

/** Organizations with their owners. */
export async function loadOrganizations(db: Database, ids: readonly number[]): Promise<Organization[]> {
  const rows = await findOrganizations(db, ids)
  const ownerIds = rows.map((row) => row.owner_id)
  const owners = byId(await loadUsers(db, ownerIds))
  return rows.map((row) => presentOrganization(row, owners))
}

function findOrganizations(db: Database, ids: readonly number[]) {
  return db
    .selectFrom('organizations')
    .selectAll()
    .select((eb) => countsBelow('organization', eb.ref('organizations.id')).as('counts'))
    .where(anyOf('organizations.id', ids))
    .execute()
}

type OrganizationRow = Awaited<ReturnType<typeof findOrganizations>>[number]

function presentOrganization(row: OrganizationRow, users: ReadonlyMap<number, User>): Organization {
  const owner = users.get(row.owner_id)!
  return pickFields(organizationSchema, { ...row, resource_summary: summarize(row.counts), owner })
}

/** Projects with their organizations and users. */
export async function loadProjects(db: Database, ids: readonly number[]): Promise<Project[]> {
  const rows = await db
    .selectFrom('projects')
    .selectAll()
    .select((eb) => [
      countsBelow('project', eb.ref('projects.id')).as('counts'),
      sql<
        string[]
      >`array(select distinct s.login_name from servers s join environments e on e.id = s.environment_id
        where e.project_id = ${eb.ref('projects.id')} and s.login_name is not null and s.deleted_at is null
        order by 1)`.as('os_users'),
    ])
    .where(anyOf('projects.id', ids))
    .execute()
  const organizationIds = rows.map((row) => row.organization_id)
  const organizationRows = await findOrganizations(db, organizationIds)
  const userIds = [...rows.map((row) => row.created_by), ...organizationRows.map((row) => row.owner_id)]
  const users = byId(await loadUsers(db, userIds))
  const organizations = byId(organizationRows.map((row) => presentOrganization(row, users)))
  return rows.map((row) =>
    pickFields(projectSchema, {
      ...row,
      user_id: row.created_by,
      resource_summary: summarize(row.counts),
      os_users: row.os_users.map((name) => ({ name })),
      organization: organizations.get(row.organization_id)!,
      created_by_user: users.get(row.created_by)!,
      used_credits: 0,
    }),
  )
}

/** How long environments keep what, and who approves their runs, by id. */
export async function loadSettings(
  db: Database,
  ids: readonly number[],
): Promise<Map<number, { retention: Retention | null; approval: ApprovalTerms | null }>> {
  const rows = await db
    .selectFrom('environments')
    .select(['id', 'retention', 'approval'])
    .where(anyOf('id', ids))
    .execute()
  return new Map(rows.map(({ id, ...settings }) => [id, settings]))
}

/** Environments with their projects, organizations and users; also removed ones, which runs still refer to. */
export async function loadEnvironments(db: Database, ids: readonly number[]): Promise<Environment[]> {
  const rows = await db
    .selectFrom('environments')
    .selectAll()
    .select((eb) => countsBelow('environment', eb.ref('environments.id')).as('counts'))
    .where(anyOf('environments.id', ids))
    .execute()
  const projectIds = rows.map((row) => row.project_id)
  const projects = byId(await loadProjects(db, projectIds))
  return rows.map((row) =>
    pickFields(environmentSchema, {
      ...row,
      type_human_readable: ENVIRONMENT_TYPES[row.type],
      used_credits: 0,
      resource_summary: summarize(row.counts),
      project: projects.get(row.project_id)!,
    }),
  )
}

const ENVIRONMENTS_BELOW = {
  organization: (id: Expression<number>) => sql`select e.id from environments e
    join projects p on p.id = e.project_id where p.organization_id = ${id} and e.deleted_at is null`,
  project: (id: Expression<number>) =>
    sql`select e.id from environments e where e.project_id = ${id} and e.deleted_at is null`,
  environment: (id: Expression<number>) => sql`select ${id} as id`,
}

/** How many resources of each kind an organization, a project or an environment has; removed ones do not count. */
function countsBelow(level: keyof typeof ENVIRONMENTS_BELOW, id: Expression<number>): RawBuilder<Counts> {
  const count = (table: string, where: RawBuilder<unknown>) =>
    sql`(select count(*) from ${sql.table(table)} where ${where} and deleted_at is null)`
  const inEnvironments = sql`environment_id in (select id from below)`
  const counts = [
    sql`'application', ${count('applications', inEnvironments)}`,
    sql`'server', ${count('servers', inEnvironments)}`,
    sql`'pipeline', ${count('pipelines', inEnvironments)}`,
  ]
  if (level !== 'environment') counts.push(sql`'environment', (select count(*) from below)`)
  if (level === 'organization') {
    counts.push(sql`'project', ${count('projects', sql`organization_id = ${id}`)}`)
    counts.push(sql`'credential', ${count('credentials', sql`organization_id = ${id}`)}`)
  }
  return sql`(with below as (${ENVIRONMENTS_BELOW[level](id)}) select json_build_object(${sql.join(counts)}))`
}

const SUMMARIZED = {
  project: ['projects', 'Project', 'Projects'],
  environment: ['environments', 'Environment', 'Environments'],
  application: ['applications', 'Application', 'Applications'],
  server: ['servers', 'Server', 'Servers'],
  pipeline: ['pipelines', 'Pipeline', 'Pipelines'],
  credential: ['credentials', 'Credential', 'Credentials'],
} as const

type Counts = Partial<Record<keyof typeof SUMMARIZED, number>>

/** In a fixed order, for the kinds that were counted. */
export function summarize(counts: Counts): ResourceSummary[] {
  return (Object.keys(SUMMARIZED) as (keyof typeof SUMMARIZED)[])
    .filter((kind) => counts[kind] !== undefined)
    .map((kind) => {
      const [plural, singularName, pluralName] = SUMMARIZED[kind]
      return {
        resource_type: kind,
        resource_type_plural: plural,
        resource_type_human_readable: singularName,
        resource_type_human_readable_plural: pluralName,
        summary: { count: counts[kind] ?? 0 },
      }
    })
}
