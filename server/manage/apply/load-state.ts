import type { Selectable } from 'kysely'
import type { Caller } from '#access/authorization/caller.ts'
import type { Scope } from '#access/authorization/permissions.ts'
import { selectHooks } from '#model/hooks/present-hook.ts'
import { loadSteps } from '#model/pipelines/steps.ts'
import type { SecretBox } from '#platform/crypto/secret-box.ts'
import { anyOf, byId } from '#platform/database/any-of.ts'
import type { Database } from '#platform/database/connect.ts'
import type { ApplicationsTable, PipelinesTable, ServersTable } from '#platform/database/tables.ts'
import { Collected, type State } from './state.ts'
import { environmentPath, ORGANIZATION, PROJECT } from './things.ts'

export type Organization = { id: number; name: string }

/** By name, or by slug; several when the name alone does not tell. Only those in which the caller has a role. */
export async function findOrganizations(db: Database, caller: Caller, name: string): Promise<Organization[]> {
  const ids = caller.grants.map((grant) => grant.organization_id)
  const rows = await db
    .selectFrom('organizations')
    .select(['id', 'name', 'url_slug'])
    .where(anyOf('id', ids))
    .where((eb) => eb.or([eb('name', '=', name), eb('url_slug', '=', name)]))
    .where('deleted_at', 'is', null)
    .orderBy('id')
    .execute()
  const bySlug = rows.filter((row) => row.url_slug === name)
  const byName = rows.filter((row) => row.name === name)
  if (byName.length <= 1) return byName.length === 1 ? byName : bySlug
  return bySlug.length === 1 ? bySlug : byName
}

/** Everything that a document about this project can speak of: a handful of statements, however much there is. */
export async function loadState(
  db: Database,
  box: SecretBox,
  organization: Organization | undefined,
  projectName: string,
): Promise<State> {
  const collected = new Collected(box)
  if (!organization) return collected.state
  const place = { organization_id: organization.id }
  collected.add({
    type: 'organization',
    path: ORGANIZATION,
    ...organization,
    place,
    body: {},
  })
  const credentials = await db
    .selectFrom('credentials')
    .selectAll()
    .where('organization_id', '=', organization.id)
    .where('deleted_at', 'is', null)
    .orderBy('id')
    .execute()
  for (const row of credentials) collected.addCredential(row, place)
  const project = await db
    .selectFrom('projects')
    .select(['id', 'name', 'logo_url'])
    .where('organization_id', '=', organization.id)
    .where('name', '=', projectName)
    .where('deleted_at', 'is', null)
    .executeTakeFirst()
  if (!project) return collected.state
  const { id, name, logo_url } = project
  const inProject = { ...place, project_id: id }
  collected.add({ type: 'project', name, path: PROJECT, id, place: inProject, body: { logo_url } })
  await loadEnvironments(db, collected, inProject)
  return collected.state
}

async function loadEnvironments(
  db: Database,
  collected: Collected,
  place: Scope & { project_id: number },
): Promise<void> {
  const environments = await db
    .selectFrom('environments')
    .select(['id', 'name', 'type', 'description'])
    .where('project_id', '=', place.project_id)
    .where('deleted_at', 'is', null)
    .orderBy('id')
    .execute()
  const ids = environments.map(({ id }) => id)
  for (const { id, name, type, description } of environments) {
    const path = environmentPath(name)
    const body = { type, description }
    collected.add({ type: 'environment', name, path, id, place: { ...place, environment_id: id }, body })
  }
  const servers = await inEnvironments(db, 'servers', ids)
  for (const row of servers as Selectable<ServersTable>[]) collected.addServer(row)
  const links = await db
    .selectFrom('application_servers')
    .select(['application_id', 'server_id'])
    .where(anyOf('environment_id', ids))
    .execute()
  const linked = Map.groupBy(links, (link) => link.application_id)
  const applications = (await inEnvironments(db, 'applications', ids)) as Selectable<ApplicationsTable>[]
  for (const row of applications)
    collected.addApplication(
      row,
      (linked.get(row.id) ?? []).map((link) => link.server_id),
    )
  const variables = await db
    .selectFrom('application_variables')
    .selectAll()
    .where(
      anyOf(
        'application_id',
        applications.map(({ id }) => id),
      ),
    )
    .orderBy('id')
    .execute()
  for (const row of variables) collected.addVariable(row)
  await loadPipelines(db, collected, ids)
}

async function loadPipelines(db: Database, collected: Collected, environmentIds: number[]): Promise<void> {
  const pipelines = (await inEnvironments(db, 'pipelines', environmentIds)) as Selectable<PipelinesTable>[]
  const names = new Map(pipelines.map((row) => [row.id, collected.nameOf(row)]))
  const links = await db
    .selectFrom('pipeline_run_after')
    .select(['pipeline_id', 'after_pipeline_id'])
    .where(anyOf('environment_id', environmentIds))
    .execute()
  const after = Map.groupBy(links, (link) => link.pipeline_id)
  for (const row of pipelines) {
    const wanted = (after.get(row.id) ?? []).flatMap((link) => names.get(link.after_pipeline_id) ?? [])
    collected.addPipeline(row, wanted)
  }
  const ids = [...byId(pipelines).keys()]
  for (const row of await loadSteps(db, ids)) collected.addStep(row)
  const hooks = await selectHooks(db)
    .where(anyOf('hooks.pipeline_id', ids))
    .orderBy('hooks.created_at')
    .orderBy('hooks.id')
    .execute()
  for (const row of hooks) collected.addHook(row)
}

function inEnvironments(db: Database, table: 'servers' | 'applications' | 'pipelines', ids: number[]) {
  return db
    .selectFrom(table as 'servers')
    .selectAll()
    .where(anyOf('environment_id', ids))
    .where('deleted_at', 'is', null)
    .orderBy('id')
    .execute() as Promise<unknown[]>
}
