import { type Expression, sql } from 'kysely'
import type { ResourceSummary } from './schemas.ts'

const SUMMARIZED = {
  project: ['projects', 'Project', 'Projects'],
  environment: ['environments', 'Environment', 'Environments'],
  application: ['applications', 'Application', 'Applications'],
  server: ['servers', 'Server', 'Servers'],
  pipeline: ['pipelines', 'Pipeline', 'Pipelines'],
  credential: ['credentials', 'Credential', 'Credentials'],
} as const

export type Counts = Partial<Record<keyof typeof SUMMARIZED, number>>

/** How many things lie below an organization, a project or an environment, by kind; removed ones do not. */
export const countsBelow = {
  organization: (id: Expression<number>) => sql<Counts>`(
    with lands as (select e.id from environments e join projects p on p.id = e.project_id where p.organization_id = ${id} and e.deleted_at is null)
    select json_build_object(
      'project', (select count(*) from projects where organization_id = ${id} and deleted_at is null),
      'environment', (select count(*) from lands),
      'application', (select count(*) from applications where environment_id in (select id from lands) and deleted_at is null),
      'server', (select count(*) from servers where environment_id in (select id from lands) and deleted_at is null),
      'pipeline', (select count(*) from pipelines where environment_id in (select id from lands) and deleted_at is null),
      'credential', (select count(*) from credentials where organization_id = ${id} and deleted_at is null)))`,
  project: (id: Expression<number>) => sql<Counts>`(
    with lands as (select e.id from environments e where e.project_id = ${id} and e.deleted_at is null)
    select json_build_object(
      'environment', (select count(*) from lands),
      'application', (select count(*) from applications where environment_id in (select id from lands) and deleted_at is null),
      'server', (select count(*) from servers where environment_id in (select id from lands) and deleted_at is null),
      'pipeline', (select count(*) from pipelines where environment_id in (select id from lands) and deleted_at is null)))`,
  environment: (id: Expression<number>) => sql<Counts>`(
    select json_build_object(
      'application', (select count(*) from applications where environment_id = ${id} and deleted_at is null),
      'server', (select count(*) from servers where environment_id = ${id} and deleted_at is null),
      'pipeline', (select count(*) from pipelines where environment_id = ${id} and deleted_at is null)))`,
}

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
