import type { Selectable } from 'kysely'
import { anyOf } from '#platform/database/any-of.ts'
import type { Database } from '#platform/database/connect.ts'
import type { PipelineStepsTable } from '#platform/database/tables.ts'
import type { PipelineStep } from './schemas.ts'

/** A step that is there. `known_as` is the id that people see; `id` that of today's row. */
export type StepRow = Selectable<PipelineStepsTable> & { known_as: number; row_version: string }

/** In the order in which they run. */
export function loadSteps(db: Database, pipelineIds: readonly number[]): Promise<StepRow[]> {
  return db
    .selectFrom('pipeline_steps')
    .selectAll()
    .select((eb) => [
      eb.fn.coalesce('original_id', 'id').$notNull().as('known_as'),
      // Changes with every update of the row: the record's ETag.
      eb
        .ref('xmin' as 'id')
        .$castTo<string>()
        .as('row_version'),
    ])
    .where(anyOf('pipeline_id', pipelineIds))
    .where('removed_at', 'is', null)
    .orderBy('pipeline_id')
    .orderBy('position')
    .execute()
}

/** `order` counts from 1; positions may have gaps. */
export function presentSteps(rows: readonly StepRow[]): PipelineStep[] {
  return rows.map((row, index) => presentStep(row, index + 1))
}

export function presentStep(row: StepRow, order: number): PipelineStep {
  return {
    id: row.known_as,
    name: row.name,
    description: row.description,
    built_in: row.built_in,
    command: row.command,
    run_as_user: row.run_as_user,
    timeout_seconds: row.timeout_seconds,
    idempotent: row.idempotent,
    order,
    created_at: row.created_at,
    updated_at: row.updated_at,
  }
}
