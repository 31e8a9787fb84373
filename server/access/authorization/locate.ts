import type { Database } from '#platform/database/connect.ts'
import type { HookType, ResourceType } from '#platform/database/tables.ts'
import type { Resource, Scope } from './permissions.ts'

/** The kinds of things that a route's address can name. */
export type Kind =
  | 'organization'
  | 'project'
  | 'environment'
  | 'credential'
  | 'server'
  | 'application'
  | 'pipeline'
  | 'role'
  | 'action'
  | 'incoming hook'
  | 'outgoing hook'
  | 'hook request'

/** Where a thing stands and, for a resource or what a pipeline does, the kind of resource. */
export type Located = Scope & { resource_type?: ResourceType; hook_type?: HookType }

/** Whose `view` permission makes a thing visible. */
export const SEEN_AS: Record<Kind, Resource> = {
  organization: 'organization',
  project: 'project',
  environment: 'environment',
  credential: 'credential',
  server: 'server',
  application: 'application',
  pipeline: 'pipeline',
  role: 'member',
  action: 'action',
  'incoming hook': 'hook',
  'outgoing hook': 'hook',
  'hook request': 'hook',
}

/** Undefined when there is no such thing, or no longer. Actions and calls outlive what they are about. */
export async function locate(db: Database, kind: Kind, id: number | string): Promise<Located | undefined> {
  switch (kind) {
    case 'organization':
      return organizations(db).where('organizations.id', '=', Number(id)).executeTakeFirst()
    case 'credential':
      return organizations(db)
        .innerJoin('credentials', 'credentials.organization_id', 'organizations.id')
        .where('credentials.id', '=', Number(id))
        .where('credentials.deleted_at', 'is', null)
        .executeTakeFirst()
    case 'role':
      return organizations(db)
        .innerJoin('roles', 'roles.organization_id', 'organizations.id')
        .where('roles.id', '=', Number(id))
        .executeTakeFirst()
    case 'project':
      return projects(db).where('projects.id', '=', Number(id)).executeTakeFirst()
    case 'environment':
      return environments(db).where('environments.id', '=', Number(id)).executeTakeFirst()
    case 'server':
      return resource('server', await serverPlace(db, Number(id)))
    case 'application':
      return resource('application', await applicationPlace(db, Number(id)))
    case 'pipeline':
      return pipelines(db)
        .where('pipelines.id', '=', Number(id))
        .where('pipelines.deleted_at', 'is', null)
        .executeTakeFirst()
    case 'action':
      return pipelines(db)
        .innerJoin('actions', 'actions.pipeline_id', 'pipelines.id')
        .where('actions.id', '=', Number(id))
        .executeTakeFirst()
    case 'incoming hook':
    case 'outgoing hook':
      return pipelines(db)
        .innerJoin('hooks', 'hooks.pipeline_id', 'pipelines.id')
        .where('hooks.id', '=', String(id))
        .where('hooks.type', '=', kind === 'incoming hook' ? 'incoming' : 'outgoing')
        .where('hooks.deleted_at', 'is', null)
        .executeTakeFirst()
    case 'hook request':
      return pipelines(db)
        .innerJoin('hooks', 'hooks.pipeline_id', 'pipelines.id')
        .innerJoin('hook_requests', 'hook_requests.hook_id', 'hooks.id')
        .select('hooks.type as hook_type')
        .where('hook_requests.id', '=', String(id))
        .executeTakeFirst()
  }
}

const organizations = (db: Database) =>
  db
    .selectFrom('organizations')
    .select('organizations.id as organization_id')
    .where('organizations.deleted_at', 'is', null)

const projects = (db: Database) =>
  db
    .selectFrom('projects')
    .select(['projects.organization_id', 'projects.id as project_id'])
    .where('projects.deleted_at', 'is', null)

const environments = (db: Database) =>
  db
    .selectFrom('environments')
    .innerJoin('projects', 'projects.id', 'environments.project_id')
    .select(['projects.organization_id', 'environments.project_id', 'environments.id as environment_id'])
    .where('environments.deleted_at', 'is', null)

const serverPlace = (db: Database, id: number) =>
  environments(db)
    .innerJoin('servers', 'servers.environment_id', 'environments.id')
    .where('servers.id', '=', id)
    .where('servers.deleted_at', 'is', null)
    .executeTakeFirst()

const applicationPlace = (db: Database, id: number) =>
  environments(db)
    .innerJoin('applications', 'applications.environment_id', 'environments.id')
    .where('applications.id', '=', id)
    .where('applications.deleted_at', 'is', null)
    .executeTakeFirst()

function resource(resource_type: ResourceType, place: Scope | undefined): Located | undefined {
  return place && { ...place, resource_type }
}

/** Also of removed environments: what they did is still to be seen. */
const pipelines = (db: Database) =>
  db
    .selectFrom('pipelines')
    .innerJoin('environments', 'environments.id', 'pipelines.environment_id')
    .innerJoin('projects', 'projects.id', 'environments.project_id')
    .select([
      'projects.organization_id',
      'environments.project_id',
      'pipelines.environment_id',
      'pipelines.resource_type',
    ])
