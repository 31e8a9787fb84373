import { type Selectable, sql } from 'kysely'
import { loadUsers } from '#access/accounts/load-users.ts'
import { loadSteps, presentSteps } from '#model/pipelines/load-steps.ts'
import type { ResourceName } from '#model/pipelines/local-servers.ts'
import type { Pipeline } from '#model/pipelines/schemas.ts'
import { anyOf, byId } from '#platform/database/any-of.ts'
import type { Database } from '#platform/database/connect.ts'
import type { PipelinesTable } from '#platform/database/tables.ts'
import type { Extent, Page } from '#platform/http/pagination.ts'
import { readPage } from '#platform/http/read-page.ts'
import { OPERATIONS, type Operation, RESOURCE_TYPES } from '#platform/vocabulary.ts'

export type PipelineRow = Selectable<PipelinesTable> & {
  project_id: number
  resource_id: number
  run_after: number[]
  row_version: string
}

/** Pipelines that are there; a removed one is not. */
function selectPipelines(db: Database) {
  return db
    .selectFrom('pipelines')
    .innerJoin('environments', 'environments.id', 'pipelines.environment_id')
    .selectAll('pipelines')
    .select((eb) => [
      'environments.project_id',
      eb.fn.coalesce('pipelines.application_id', 'pipelines.server_id').$notNull().as('resource_id'),
      sql<number[]>`array(select after_pipeline_id from pipeline_run_after
        where pipeline_id = ${eb.ref('pipelines.id')} order by 1)`.as('run_after'),
      // Changes with every update of the row: the record's ETag.
      eb
        .ref('pipelines.xmin' as 'pipelines.id')
        .$castTo<string>()
        .as('row_version'),
    ])
    .where('pipelines.deleted_at', 'is', null)
}

export function findPipeline(
  db: Database,
  id: number,
  options: { lock?: boolean } = {},
): Promise<PipelineRow | undefined> {
  const query = selectPipelines(db).where('pipelines.id', '=', id)
  return (options.lock ? query.forNoKeyUpdate('pipelines') : query).executeTakeFirst()
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
): Promise<{ rows: PipelineRow[]; extent: Extent }> {
  const column = type === 'application' ? 'pipelines.application_id' : 'pipelines.server_id'
  const query = selectPipelines(db).where(column, '=', id)
  return readPage(query, 'pipelines', page, name)
}

export async function presentPipelines(db: Database, rows: readonly PipelineRow[]): Promise<Pipeline[]> {
  const people = rows.map((row) => row.created_by)
  const users = byId(await loadUsers(db, people))
  const ids = rows.map((row) => row.id)
  const steps = Map.groupBy(await loadSteps(db, ids), (step) => step.pipeline_id)
  return rows.map((row) => ({
    id: row.id,
    name: row.name,
    operation: row.operation as Operation,
    operation_human_readable: OPERATIONS[row.operation as Operation],
    resource_type: row.resource_type,
    resource_type_human_readable: RESOURCE_TYPES[row.resource_type],
    resource_id: row.resource_id,
    environment_id: row.environment_id,
    project_id: row.project_id,
    max_parallel_actions: row.max_parallel_actions,
    queue_policy: row.queue_policy,
    rollout: row.rollout,
    run_after: row.run_after,
    steps: presentSteps(steps.get(row.id) ?? []),
    created_by_user: users.get(row.created_by)!,
    created_at: row.created_at,
    updated_at: row.updated_at,
  }))
}
