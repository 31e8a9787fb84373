import { sql, type Transaction } from 'kysely'
import { DEPLOY_STEPS } from '#model/pipelines/built-in-steps.ts'
import type { Tables } from '#platform/database/tables.ts'

/** The steps that every deploy has, before those that the pipeline has already. */
export async function addBuiltInSteps(trx: Transaction<Tables>, pipelineId: number): Promise<void> {
  await trx
    .updateTable('pipeline_steps')
    .set((eb) => ({ position: eb('position', '+', DEPLOY_STEPS.length) }))
    .where('pipeline_id', '=', pipelineId)
    .where('removed_at', 'is', null)
    .execute()
  await trx
    .insertInto('pipeline_steps')
    .values(
      DEPLOY_STEPS.map((step, index) => ({
        ...step,
        pipeline_id: pipelineId,
        position: index + 1,
        built_in: true,
      })),
    )
    .execute()
}

export async function removeBuiltInSteps(trx: Transaction<Tables>, pipelineId: number): Promise<void> {
  await trx
    .updateTable('pipeline_steps')
    .set({ removed_at: sql<string>`now()` })
    .where('pipeline_id', '=', pipelineId)
    .where('built_in', '=', true)
    .where('removed_at', 'is', null)
    .execute()
}
