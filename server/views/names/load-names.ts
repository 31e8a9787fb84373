import { sql } from 'kysely'
import type { Database } from '#platform/database/connect.ts'
import type { NamedType } from './schemas.ts'

export type NameRow = {
  type: NamedType
  /** A UUID for hooks, an integer for everything else. */
  id: string
  name: string
  organization_id: number
  /** What precedes it in its path. */
  parent_type: NamedType | null
  parent_id: number | null
  /** Organizations only. */
  url_slug: string | null
  archived: boolean
}

/** Everything with a name in the given organizations. One statement, so that parents and children fit together. */
export async function loadNames(db: Database, organizationIds: readonly number[]): Promise<NameRow[]> {
  const { rows } = await sql<NameRow>`
    with o as (
      select id, name, url_slug from organizations where id = any(${organizationIds}::bigint[]) and deleted_at is null
    ), p as (
      select id, name, organization_id from projects
      where organization_id in (select id from o) and deleted_at is null
    ), e as (
      select e.id, e.name, e.project_id, p.organization_id, e.archived_at is not null as archived
      from environments e join p on p.id = e.project_id where e.deleted_at is null
    ), l as (
      select l.id, l.name, l.resource_type, coalesce(l.application_id, l.server_id) as resource_id, e.organization_id,
        e.archived
      from pipelines l join e on e.id = l.environment_id where l.deleted_at is null
    )
    select 'organization' as type, id::text, name, id as organization_id, null as parent_type, null::bigint as parent_id,
      url_slug, false as archived from o
    union all
    select 'credential', c.id::text, c.name, c.organization_id, null, null, null, false
      from credentials c where c.organization_id in (select id from o) and c.deleted_at is null
    union all
    select 'project', id::text, name, organization_id, null, null, null, false from p
    union all
    select 'environment', id::text, name, organization_id, 'project', project_id, null, archived from e
    union all
    select 'application', a.id::text, a.name, e.organization_id, 'environment', e.id, null, e.archived
      from applications a join e on e.id = a.environment_id where a.deleted_at is null
    union all
    select 'server', s.id::text, s.name, e.organization_id, 'environment', e.id, null, e.archived
      from servers s join e on e.id = s.environment_id where s.deleted_at is null
    union all
    select 'pipeline', id::text, name, organization_id, resource_type, resource_id, null, archived from l
    union all
    select h.type || '_hook', h.id::text, h.name, l.organization_id, 'pipeline', l.id, null, l.archived
      from hooks h join l on l.id = h.pipeline_id where h.deleted_at is null`.execute(db)
  return rows
}
