import { sql, type Transaction } from 'kysely'
import { MOST_STEPS } from '#model/pipelines/built-in-steps.ts'
import { loadSteps, type StepRow } from '#model/pipelines/load-steps.ts'
import { type After, placeStep } from '#model/pipelines/place-step.ts'
import type { StepChange } from '#model/pipelines/schemas.ts'
import type { Tables } from '#platform/database/tables.ts'

// How steps are stored. The place of a row may change; what it does may not (docs/decisions/0015).

/** Places need not be dense; the last one may have been given up by a step that was removed. */
export function freePosition(steps: readonly StepRow[]): number {
  const taken = new Set(steps.map((step) => step.position))
  return Array.from({ length: MOST_STEPS }, (_, index) => index + 1).find((one) => !taken.has(one))!
}

/** Whether two have one place is looked at when the transaction ends. */
export async function storeOrder(
  trx: Transaction<Tables>,
  pipelineId: number,
  moved: number,
  after: After,
): Promise<void> {
  const steps = await loadSteps(trx, [pipelineId])
  const placed = placeStep(steps, steps.find((step) => step.known_as === moved)!, after)
  if (placed.kind !== 'placed') throw new Error('the place of a step was not checked')
  const ids = placed.steps.map((step) => step.id)
  await sql`
    update pipeline_steps set position = wanted.position
    from unnest(${ids}::bigint[]) with ordinality as wanted (id, position)
    where pipeline_steps.id = wanted.id and pipeline_steps.position <> wanted.position`.execute(trx)
}

/** Runs that were planned with the old row go on doing what it says. */
export async function replaceRow(
  trx: Transaction<Tables>,
  stored: StepRow,
  content: Omit<StepChange, 'trigger_after'>,
): Promise<void> {
  const { name, description, command, run_as_user, timeout_seconds, idempotent } = stored
  const today = { name, description, command, run_as_user, timeout_seconds, idempotent }
  const wanted = { ...today, ...content }
  if (Object.keys(today).every((key) => wanted[key as never] === today[key as never])) return
  await retireRow(trx, stored)
  await trx
    .insertInto('pipeline_steps')
    .values({
      ...wanted,
      original_id: stored.known_as,
      pipeline_id: stored.pipeline_id,
      position: stored.position,
      built_in: stored.built_in,
      created_at: stored.created_at,
    })
    .execute()
}

export async function retireRow(trx: Transaction<Tables>, { id }: StepRow): Promise<void> {
  await trx
    .updateTable('pipeline_steps')
    .set({ removed_at: sql<string>`now()` })
    .where('id', '=', id)
    .execute()
}
