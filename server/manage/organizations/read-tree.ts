// Lists organizations, projects and environments as far as the caller may see them, and presents them.

import { sql } from 'kysely'
import type { Caller } from '#access/authorization/caller.ts'
import { can, type Scope } from '#access/authorization/permissions.ts'
import { loadCredits } from '#model/actions/used-credits.ts'
import {
  loadEnvironments,
  loadOrganizations,
  loadProjects,
  loadSettings,
} from '#model/inventory/load-scopes.ts'
import type { Organization, Project } from '#model/inventory/schemas.ts'
import { anyOf, byId } from '#platform/database/any-of.ts'
import type { Database } from '#platform/database/connect.ts'
import { findRows } from '#platform/database/rows.ts'
import type { Retention } from '#platform/database/tables.ts'
import type { Page } from '#platform/http/pagination.ts'
import { readPage } from '#platform/http/read-page.ts'

type Grants = Pick<Caller, 'grants'>

/** With `organization:view`, newest first. */
export function listOrganizations(db: Database, caller: Grants, name: string | undefined, page: Page) {
  const ids = caller.grants
    .map((grant) => grant.organization_id)
    .filter((organization_id) => can(caller, 'organization:view', { organization_id }))
  const query = db.selectFrom('organizations').select('id').where(anyOf('id', ids))
  return readPage(query.where('deleted_at', 'is', null), 'organizations', page, name)
}

/** With `project:view`, newest first. */
export function listProjects(
  db: Database,
  caller: Grants,
  scope: Scope,
  name: string | undefined,
  page: Page,
) {
  const visible = isVisible(caller, scope, 'project')
  const query = db.selectFrom('projects').select('id').where('organization_id', '=', scope.organization_id)
  return readPage(query.where(visible).where('deleted_at', 'is', null), 'projects', page, name)
}

/** With `environment:view`, newest first. */
export function listEnvironments(
  db: Database,
  caller: Grants,
  scope: Scope,
  name: string | undefined,
  page: Page,
) {
  const visible = isVisible(caller, scope, 'environment')
  const query = db.selectFrom('environments').select('id').where('project_id', '=', scope.project_id!)
  return readPage(query.where(visible).where('deleted_at', 'is', null), 'environments', page, name)
}

/** In a scope: all of them, or those on which the caller has the permission by a grant on just that one. */
function isVisible(caller: Grants, scope: Scope, type: 'project' | 'environment') {
  if (can(caller, `${type}:view`, scope)) return sql<boolean>`true`
  const ids = caller.grants
    .filter((grant) => grant.permissions.has(`${type}:view`))
    .filter((grant) => type === 'environment' || grant.environment_id === null)
    .flatMap((grant) => grant[`${type}_id`] ?? [])
  return anyOf('id', ids)
}

// Presented in the order of the rows; one that was removed in the meantime is left out.

export type Rows = readonly { id: number }[]

export async function presentOrganizations(db: Database, rows: Rows): Promise<Organization[]> {
  return inOrder(rows, await loadOrganizations(db, idsOf(rows)))
}

export async function presentProjects(db: Database, rows: Rows): Promise<Project[]> {
  const projects = await loadProjects(db, idsOf(rows))
  const { byProject } = await loadCreditsIn(db, idsOf(rows))
  return inOrder(
    rows,
    projects.map((project) => withCredits(project, byProject)),
  )
}

export async function presentEnvironments(db: Database, rows: Rows, defaults: Retention) {
  const environments = await loadEnvironments(db, idsOf(rows))
  const settings = await loadSettings(db, idsOf(rows))
  const projects = environments.map(({ project }) => project)
  const { byEnvironment, byProject } = await loadCreditsIn(db, idsOf(projects))
  return inOrder(
    rows,
    environments.map((environment) => ({
      ...withCredits(environment, byEnvironment),
      project: withCredits(environment.project, byProject),
      ...settings.get(environment.id)!,
      effective_retention: settings.get(environment.id)!.retention ?? defaults,
    })),
  )
}

/** Target runs of this month. Those of removed environments still count for their project. */
async function loadCreditsIn(db: Database, projectIds: readonly number[]) {
  const environments = await findRows(db, 'environments', { project_id: projectIds }, ['id', 'project_id'])
  const byEnvironment = await loadCredits(db, idsOf(environments))
  const byProject = new Map<number, number>()
  for (const { id, project_id } of environments)
    byProject.set(project_id, (byProject.get(project_id) ?? 0) + (byEnvironment.get(id) ?? 0))
  return { byEnvironment, byProject }
}

function withCredits<Shown extends { id: number; used_credits: number }>(
  shown: Shown,
  credits: ReadonlyMap<number, number>,
): Shown {
  return { ...shown, used_credits: credits.get(shown.id) ?? 0 }
}

function inOrder<Shown extends { id: number }>(rows: Rows, shown: readonly Shown[]): Shown[] {
  const known = byId(shown)
  return rows.flatMap(({ id }) => known.get(id) ?? [])
}

function idsOf(rows: Rows): number[] {
  return rows.map(({ id }) => id)
}
