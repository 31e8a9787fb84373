import type { Selectable } from 'kysely'
import { anyOf } from '#platform/database/any-of.ts'
import type { Database } from '#platform/database/connect.ts'
import type { PipelineStepsTable } from '#platform/database/tables.ts'
import { pickFields } from '#platform/http/schemas.ts'
import { type PipelineStep, pipelineStepSchema } from './schemas.ts'

/** A step that is not removed. `stepKey` is its public id; `id` is the current row's. */
export type StepRow = Selectable<PipelineStepsTable> & { stepKey: number; row_version: string }

/** In execution order. */
export function loadSteps(db: Database, pipelineIds: readonly number[]): Promise<StepRow[]> {
  return db
    .selectFrom('pipeline_steps')
    .selectAll()
    .select((eb) => [
      eb.fn.coalesce('original_id', 'id').$notNull().as('stepKey'),
      // Changes with every update of the row: the ETag.
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

/** `order` starts at 1; positions may have gaps. */
export function presentSteps(rows: readonly StepRow[]): PipelineStep[] {
  return rows.map((row, index) => presentStep(row, index + 1))
}

export function presentStep(row: StepRow, order: number): PipelineStep {
  return pickFields(pipelineStepSchema, { ...row, id: row.stepKey, order })
}

type OrderedStep = { stepKey: number; name: string }

/** The input `trigger_after`: a name, an id, or null for the first position. */
export type After = string | number | null

type StepOrder<Step> = { kind: 'placed'; steps: Step[] } | { kind: 'unknown' } | { kind: 'after-itself' }

/** The steps in their new order: one of them, existing or new, is moved after another. Pure. */
export function moveStep<Step extends OrderedStep>(
  steps: readonly Step[],
  moved: Step,
  after: After,
): StepOrder<Step> {
  const isNamed = ({ stepKey, name }: OrderedStep) =>
    typeof after === 'number' ? stepKey === after : name === after
  if (after !== null && isNamed(moved)) return { kind: 'after-itself' }
  const others = steps.filter(({ stepKey }) => stepKey !== moved.stepKey)
  const index = after === null ? 0 : others.findIndex(isNamed) + 1
  if (after !== null && index === 0) return { kind: 'unknown' }
  return { kind: 'placed', steps: others.toSpliced(index, 0, moved) }
}
