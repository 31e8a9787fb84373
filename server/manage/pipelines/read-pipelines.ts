import { sql } from 'kysely'
import { loadUsers } from '#access/accounts/load-users.ts'
import type { KnownNames } from '#access/authorization/known-names.ts'
import type { ResourceName } from '#model/inventory/local-servers.ts'
import { presentHealthCheck } from '#model/pipelines/health-check.ts'
import { wholeRollout } from '#model/pipelines/rollout.ts'
import { pipelineSchema } from '#model/pipelines/schemas.ts'
import { loadSteps, presentSteps } from '#model/pipelines/steps.ts'
import { anyOf, byId } from '#platform/database/any-of.ts'
import type { Database } from '#platform/database/connect.ts'
import { anyContains } from '#platform/database/contains.ts'
import { findById, rowVersion } from '#platform/database/rows.ts'
import type { Page } from '#platform/http/pagination.ts'
import { readPage } from '#platform/http/read-page.ts'
import * as t from '#platform/http/schemas.ts'
import { OPERATIONS, type Operation, RESOURCE_TYPES } from '#platform/vocabulary.ts'

export type PipelineRow = NonNullable<Awaited<ReturnType<typeof findPipeline>>>

/** All but removed ones. */
function selectPipelines(db: Database) {
  return db
    .selectFrom('pipelines')
    .innerJoin('environments', 'environments.id', 'pipelines.environment_id')
    .leftJoin('applications', 'applications.id', 'pipelines.application_id')
    .leftJoin('servers', 'servers.id', 'pipelines.server_id')
    .selectAll('pipelines')
    .select((eb) => [
      eb.fn.coalesce('applications.name', 'servers.name').$notNull().as('resource_name'),
      'environments.project_id',
      'applications.health_check as application_health_check',
      eb.fn.coalesce('pipelines.application_id', 'pipelines.server_id').$notNull().as('resource_id'),
      sql<number[]>`array(select after_pipeline_id from pipeline_run_after
        where pipeline_id = ${eb.ref('pipelines.id')} order by 1)`.as('run_after'),
      rowVersion('pipelines'),
    ])
    .where('pipelines.deleted_at', 'is', null)
}

export function findPipeline(db: Database, id: number, options?: { lock: boolean }) {
  return findById(selectPipelines(db), 'pipelines', id, options)
}

export function findPipelines(db: Database, ids: readonly number[]): Promise<PipelineRow[]> {
  return selectPipelines(db).where(anyOf('pipelines.id', ids)).orderBy('pipelines.id').execute()
}

/** The pipelines of a resource, newest first. */
export function listPipelines(
  db: Database,
  { type, id }: ResourceName,
  name: string | undefined,
  page: Page,
) {
  const query = selectPipelines(db).where(`pipelines.${type}_id`, '=', id)
  return readPage(query, 'pipelines', page, name)
}

/** The pipelines of an environment, newest first. `text`: part of their name, or of that of their resource. */
export function listEnvironmentPipelines(
  db: Database,
  environmentId: number,
  search: { text: string; names: KnownNames } | undefined,
  page: Page,
) {
  const resources = (['application', 'server'] as const).filter((type) => search?.names[type])
  const columns = ['pipelines.name', ...resources.map((type) => `${type}s.name`)]
  const query = selectPipelines(db)
    .where('pipelines.environment_id', '=', environmentId)
    .$if(search !== undefined, (pipelines) => pipelines.where(anyContains(columns, search!.text)))
  return readPage(query, 'pipelines', page)
}

export async function presentPipelines(db: Database, rows: readonly PipelineRow[], names: KnownNames) {
  const creators = rows.map((row) => row.created_by)
  const ids = rows.map((row) => row.id)
  const users = byId(await loadUsers(db, creators))
  const steps = Map.groupBy(await loadSteps(db, ids), (step) => step.pipeline_id)
  return rows.map((row) =>
    t.pickFields(pipelineSchema, {
      ...row,
      rollout: wholeRollout<null>(row.rollout),
      resource_name: names[row.resource_type] ? row.resource_name : null,
      operation: row.operation as Operation,
      operation_human_readable: OPERATIONS[row.operation as Operation],
      resource_type_human_readable: RESOURCE_TYPES[row.resource_type],
      health_check: presentHealthCheck(row.health_check),
      steps: presentSteps(steps.get(row.id) ?? []),
      created_by_user: users.get(row.created_by)!,
    }),
  )
}
