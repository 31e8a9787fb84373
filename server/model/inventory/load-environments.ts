import { anyOf, byId } from '#platform/database/any-of.ts'
import type { Database } from '#platform/database/connect.ts'
import { markStable } from '#platform/http/stable-json.ts'
import { ENVIRONMENT_TYPES } from '#platform/vocabulary.ts'
import { loadProjects } from './load-projects.ts'
import { countsBelow, summarize } from './resource-summary.ts'
import type { Environment } from './schemas.ts'

/**
 * Environments with their projects, organizations and people, in four statements for any number of them; also
 * removed ones, which runs still name. Used credits are not of the tree: see actions/used-credits.ts.
 */
export async function loadEnvironments(db: Database, ids: readonly number[]): Promise<Environment[]> {
  const environments = await db
    .selectFrom('environments')
    .selectAll()
    .select((eb) => countsBelow.environment(eb.ref('environments.id')).as('counts'))
    .where(anyOf('environments.id', ids))
    .execute()
  const projectIds = environments.map((row) => row.project_id)
  const projects = byId(await loadProjects(db, projectIds))
  return environments.map((row) => ({
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
    project: projects.get(row.project_id)!,
  }))
}
