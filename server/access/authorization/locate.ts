import { sql } from 'kysely'
import type { Database } from '#platform/database/connect.ts'
import type { HookType, ResourceType } from '#platform/database/tables.ts'
import type { Resource, Scope } from './permissions.ts'

/** The kinds of objects that a route's URL can name. */
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

/** The scope of an object and, for a resource or what a pipeline runs on, the kind of resource. */
export type Located = Scope & { resource_type?: ResourceType; hook_type?: HookType }

/** The resource whose `view` permission makes an object visible. */
export const VISIBLE_AS: Record<Kind, Resource> = {
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

/** Undefined when the object does not exist, or was removed. Actions and hook requests outlive what they belong to. */
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
      return environments(db)
        .innerJoin('servers', 'servers.environment_id', 'environments.id')
        .select(sql<'server'>`'server'`.as('resource_type'))
        .where('servers.id', '=', Number(id))
        .where('servers.deleted_at', 'is', null)
        .executeTakeFirst()
    case 'application':
      return environments(db)
        .innerJoin('applications', 'applications.environment_id', 'environments.id')
        .select(sql<'application'>`'application'`.as('resource_type'))
        .where('applications.id', '=', Number(id))
        .where('applications.deleted_at', 'is', null)
        .executeTakeFirst()
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

/** Includes removed environments: their history stays visible. */
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
