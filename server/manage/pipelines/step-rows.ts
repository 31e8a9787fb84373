import { sql } from 'kysely'
import { DEPLOY_STEPS, MAX_STEPS } from '#model/pipelines/built-in-steps.ts'
import type { StepChange } from '#model/pipelines/schemas.ts'
import { type After, loadSteps, moveStep, type StepRow } from '#model/pipelines/steps.ts'
import type { Transaction } from '#platform/database/connect.ts'
import { NOW } from '#platform/database/rows.ts'

// How steps are stored. The position of a row may change; its content never does (docs/decisions/0015).

/** Positions need not be dense: a removed step leaves a gap. */
export function freePosition(steps: readonly StepRow[]): number {
  const taken = new Set(steps.map((step) => step.position))
  return Array.from({ length: MAX_STEPS }, (_, index) => index + 1).find((one) => !taken.has(one))!
}

/** The database checks that positions are unique when the transaction ends. */
export async function storeOrder(trx: Transaction, pipelineId: number, moved: number, after: After) {
  const steps = await loadSteps(trx, [pipelineId])
  const placed = moveStep(steps, steps.find((step) => step.stepKey === moved)!, after)
  if (placed.kind !== 'placed') throw new Error('the position of a step was not checked')
  const ids = placed.steps.map((step) => step.id)
  await sql`
    update pipeline_steps set position = wanted.position
    from unnest(${ids}::bigint[]) with ordinality as wanted (id, position)
    where pipeline_steps.id = wanted.id and pipeline_steps.position <> wanted.position`.execute(trx)
}

/** Runs that were planned with the old row keep executing what it says. */
export async function replaceRow(
  trx: Transaction,
  stored: StepRow,
  input: Omit<StepChange, 'trigger_after'>,
): Promise<void> {
  const { name, description, command, run_as_user, timeout_seconds } = stored
  const { idempotent, irreversible, run_on_revert } = stored
  const marks = { idempotent, irreversible, run_on_revert }
  const before = { name, description, command, run_as_user, timeout_seconds, ...marks }
  const after = { ...before, ...input }
  if (Object.keys(before).every((key) => after[key as never] === before[key as never])) return
  await retireRow(trx, stored)
  await trx
    .insertInto('pipeline_steps')
    .values({
      ...after,
      original_id: stored.stepKey,
      pipeline_id: stored.pipeline_id,
      position: stored.position,
      built_in: stored.built_in,
      created_at: stored.created_at,
    })
    .execute()
}

export async function retireRow(trx: Transaction, { id }: StepRow): Promise<void> {
  await retire(trx).where('id', '=', id).execute()
}

/** Inserts the steps of every deploy before those that the pipeline already has. */
export async function addBuiltInSteps(trx: Transaction, pipelineId: number): Promise<void> {
  await trx
    .updateTable('pipeline_steps')
    .set((eb) => ({ position: eb('position', '+', DEPLOY_STEPS.length) }))
    .where('pipeline_id', '=', pipelineId)
    .where('removed_at', 'is', null)
    .execute()
  const builtIn = { pipeline_id: pipelineId, built_in: true }
  await trx
    .insertInto('pipeline_steps')
    .values(DEPLOY_STEPS.map((step, index) => ({ ...step, ...builtIn, position: index + 1 })))
    .execute()
}

export async function removeBuiltInSteps(trx: Transaction, pipelineId: number): Promise<void> {
  await retire(trx).where('pipeline_id', '=', pipelineId).where('built_in', '=', true).execute()
}

function retire(trx: Transaction) {
  return trx.updateTable('pipeline_steps').set({ removed_at: NOW }).where('removed_at', 'is', null)
}
