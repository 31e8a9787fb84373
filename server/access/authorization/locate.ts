import { CompiledQuery } from 'kysely'
import type { Database } from '#platform/database/connect.ts'
import type { HookType, ResourceType } from '#platform/database/tables.ts'
import type { Resource, Scope } from './permissions.ts'

/** The kinds of objects that a route's URL can name, and the resource whose `view` permission makes them visible. */
export const VISIBLE_AS = {
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
  freeze: 'environment',
} as const satisfies Record<string, Resource>

export type Kind = keyof typeof VISIBLE_AS

/** The scope of an object and, for a resource or what a pipeline runs on, the kind of resource. */
export type Located = Scope & { resource_type?: ResourceType; hook_type?: HookType }

const ORGANIZATION = 'select o.id as organization_id'
const PROJECT = 'select p.organization_id, p.id as project_id'
const ENVIRONMENT = 'select p.organization_id, e.project_id, e.id as environment_id'
/** Includes removed environments: their history stays visible. */
const PIPELINE = `${ENVIRONMENT}, l.resource_type`
const FROM_ENVIRONMENT = 'from environments e join projects p on p.id = e.project_id'
const FROM_PIPELINE = `${FROM_ENVIRONMENT} join pipelines l on l.environment_id = e.id`
const FROM_HOOK = `${FROM_PIPELINE} join hooks h on h.pipeline_id = l.id`

// Plain text: most requests run one, and building it each time would take longer than running it.
const QUERIES: Record<Kind, string> = {
  organization: `${ORGANIZATION} from organizations o where o.id = $1 and o.deleted_at is null`,
  credential: `${ORGANIZATION} from organizations o join credentials c on c.organization_id = o.id
    where c.id = $1 and c.deleted_at is null and o.deleted_at is null`,
  role: `${ORGANIZATION} from organizations o join roles r on r.organization_id = o.id
    where r.id = $1 and o.deleted_at is null`,
  project: `${PROJECT} from projects p where p.id = $1 and p.deleted_at is null`,
  environment: `${ENVIRONMENT} ${FROM_ENVIRONMENT} where e.id = $1 and e.deleted_at is null`,
  server: `${ENVIRONMENT}, 'server' as resource_type ${FROM_ENVIRONMENT} join servers s on s.environment_id = e.id
    where s.id = $1 and s.deleted_at is null and e.deleted_at is null`,
  application: `${ENVIRONMENT}, 'application' as resource_type ${FROM_ENVIRONMENT}
    join applications a on a.environment_id = e.id
    where a.id = $1 and a.deleted_at is null and e.deleted_at is null`,
  pipeline: `${PIPELINE} ${FROM_PIPELINE} where l.id = $1 and l.deleted_at is null`,
  action: `${PIPELINE} ${FROM_PIPELINE} join actions a on a.pipeline_id = l.id where a.id = $1`,
  'incoming hook': `${PIPELINE} ${FROM_HOOK} where h.id = $1 and h.type = 'incoming' and h.deleted_at is null`,
  'outgoing hook': `${PIPELINE} ${FROM_HOOK} where h.id = $1 and h.type = 'outgoing' and h.deleted_at is null`,
  // Without an environment, it covers the organization.
  freeze: `select f.organization_id, e.project_id, f.environment_id from freezes f
    join organizations o on o.id = f.organization_id and o.deleted_at is null
    left join environments e on e.id = f.environment_id where f.id = $1 and e.deleted_at is null`,
  'hook request': `${PIPELINE}, h.type as hook_type ${FROM_HOOK} join hook_requests q on q.hook_id = h.id
    where q.id = $1`,
}

/** Undefined when the object does not exist, or was removed. Actions and hook requests outlive what they belong to. */
export async function locate(db: Database, kind: Kind, id: number | string): Promise<Located | undefined> {
  const { rows } = await db.executeQuery<Located>(CompiledQuery.raw(QUERIES[kind], [id]))
  return rows[0]
}
