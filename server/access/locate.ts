import type { Database } from '#database/connect.ts'
import type { ResourceType } from '#database/tables.ts'
import type { Place, Resource } from './permissions.ts'

/** The kinds of things that a route's address can name. */
export type Kind = 'pipeline' | 'action' | 'incoming hook' | 'outgoing hook' | 'hook request'

/** Where a thing stands, and the kind of resource that its pipeline runs on. */
export type Located = Place & { resource_type: ResourceType }

/** Whose `view` permission makes a thing visible. */
export const SEEN_AS: Record<Kind, Resource> = {
  pipeline: 'pipeline',
  action: 'action',
  'incoming hook': 'hook',
  'outgoing hook': 'hook',
  'hook request': 'hook',
}

/** Undefined when there is no such thing. */
export function locate(db: Database, kind: Kind, id: number | string): Promise<Located | undefined> {
  const places = db
    .selectFrom('pipelines')
    .innerJoin('environments', 'environments.id', 'pipelines.environment_id')
    .innerJoin('projects', 'projects.id', 'environments.project_id')
    .select([
      'projects.organization_id',
      'environments.project_id',
      'pipelines.environment_id',
      'pipelines.resource_type',
    ])
  switch (kind) {
    case 'pipeline':
      return places.where('pipelines.id', '=', Number(id)).executeTakeFirst()
    case 'action':
      return places
        .innerJoin('actions', 'actions.pipeline_id', 'pipelines.id')
        .where('actions.id', '=', Number(id))
        .executeTakeFirst()
    case 'incoming hook':
    case 'outgoing hook':
      return places
        .innerJoin('hooks', 'hooks.pipeline_id', 'pipelines.id')
        .where('hooks.id', '=', String(id))
        .where('hooks.type', '=', kind === 'incoming hook' ? 'incoming' : 'outgoing')
        .where('hooks.deleted_at', 'is', null)
        .executeTakeFirst()
    case 'hook request':
      return places
        .innerJoin('hooks', 'hooks.pipeline_id', 'pipelines.id')
        .innerJoin('hook_requests', 'hook_requests.hook_id', 'hooks.id')
        .where('hook_requests.id', '=', String(id))
        .executeTakeFirst()
  }
}
