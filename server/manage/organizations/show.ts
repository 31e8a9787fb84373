import { loadCredits } from '#model/actions/used-credits.ts'
import { loadEnvironments } from '#model/inventory/load-environments.ts'
import { loadOrganizations } from '#model/inventory/load-organizations.ts'
import { loadProjects } from '#model/inventory/load-projects.ts'
import type { Environment, Organization, Project } from '#model/inventory/schemas.ts'
import { anyOf, byId } from '#platform/database/any-of.ts'
import type { Database } from '#platform/database/connect.ts'

// Things as they are shown, in the order of their rows; one that is gone meanwhile is left out.

export type Rows = readonly { id: number }[]

export async function showOrganizations(db: Database, rows: Rows): Promise<Organization[]> {
  return inOrder(rows, await loadOrganizations(db, idsOf(rows)))
}

export async function showProjects(db: Database, rows: Rows): Promise<Project[]> {
  const ids = idsOf(rows)
  const projects = await loadProjects(db, ids)
  const { byProject } = await creditsIn(db, ids)
  return inOrder(
    rows,
    projects.map((project) => withCredits(project, byProject)),
  )
}

export async function showEnvironments(db: Database, rows: Rows): Promise<Environment[]> {
  const environments = await loadEnvironments(db, idsOf(rows))
  const projectIds = environments.map(({ project }) => project.id)
  const { byEnvironment, byProject } = await creditsIn(db, projectIds)
  return inOrder(
    rows,
    environments.map((environment) => ({
      ...withCredits(environment, byEnvironment),
      project: withCredits(environment.project, byProject),
    })),
  )
}

/** Target runs of this month; those of removed environments were made too, and count for their project. */
async function creditsIn(db: Database, projectIds: readonly number[]) {
  const environments = await db
    .selectFrom('environments')
    .select(['id', 'project_id'])
    .where(anyOf('project_id', projectIds))
    .execute()
  const byEnvironment = await loadCredits(
    db,
    environments.map(({ id }) => id),
  )
  const byProject = new Map<number, number>()
  for (const { id, project_id } of environments)
    byProject.set(project_id, (byProject.get(project_id) ?? 0) + (byEnvironment.get(id) ?? 0))
  return { byEnvironment, byProject }
}

function withCredits<Thing extends { id: number; used_credits: number }>(
  thing: Thing,
  credits: ReadonlyMap<number, number>,
): Thing {
  return { ...thing, used_credits: credits.get(thing.id) ?? 0 }
}

function inOrder<Thing extends { id: number }>(rows: Rows, things: readonly Thing[]): Thing[] {
  const known = byId(things)
  return rows.flatMap(({ id }) => known.get(id) ?? [])
}

function idsOf(rows: Rows): number[] {
  return rows.map(({ id }) => id)
}
