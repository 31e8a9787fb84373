import { isDeepStrictEqual } from 'node:util'
import { sql } from 'kysely'
import { CHECK_HEALTH, MAX_STEPS } from '#model/pipelines/built-in-steps.ts'
import { healthStepTimeout } from '#model/pipelines/health-check.ts'
import { loadSteps } from '#model/pipelines/steps.ts'
import type { Transaction } from '#platform/database/connect.ts'
import { insertRow, updateRow } from '#platform/database/rows.ts'
import type { HealthCheck } from '#platform/database/tables.ts'
import { conflict } from '#platform/http/problems.ts'
import { freePosition, retireRow, storeOrder } from './step-rows.ts'

// The step `check-health` of a deploy follows from the health check of its pipeline or application: with one, the step
// is right before `remove-old-releases`, and its row holds the check, so that a run does what was planned.

/** The deploys of an application, or one of them. */
type Deploys = { applicationId: number } | { pipelineId: number }

function loadDeploys(trx: Transaction, of: Deploys) {
  return trx
    .selectFrom('pipelines')
    .innerJoin('applications', 'applications.id', 'pipelines.application_id')
    .select((eb) => [
      'pipelines.id',
      'pipelines.name',
      sql<HealthCheck | null>`coalesce(${eb.ref('pipelines.health_check')}, ${eb.ref('applications.health_check')})`.as(
        'check',
      ),
    ])
    .where((eb) =>
      'pipelineId' in of
        ? eb('pipelines.id', '=', of.pipelineId)
        : eb('applications.id', '=', of.applicationId),
    )
    .where('pipelines.operation', '=', 'deploy')
    .where('pipelines.deleted_at', 'is', null)
    .execute()
}

/** Call it under the lock of their environment. */
export async function syncHealthSteps(trx: Transaction, of: Deploys) {
  for (const { id, check } of await loadDeploys(trx, of)) await syncHealthStep(trx, id, check)
}

async function syncHealthStep(trx: Transaction, pipelineId: number, check: HealthCheck | null) {
  const steps = await loadSteps(trx, [pipelineId])
  const stored = steps.find(isHealthStep)
  if (isDeepStrictEqual(stored?.health_check ?? null, check)) return
  if (stored) await retireRow(trx, stored)
  if (check) {
    const id = await insertRow(trx, 'pipeline_steps', {
      ...CHECK_HEALTH,
      pipeline_id: pipelineId,
      built_in: true,
      health_check: JSON.stringify(check),
      timeout_seconds: healthStepTimeout(check),
      original_id: stored?.stepKey,
      created_at: stored?.created_at,
      position: stored?.position ?? freePosition(steps),
    })
    const next = steps.findIndex((step) => step.built_in && step.name === 'remove-old-releases')
    if (!stored) await storeOrder(trx, pipelineId, id, steps[next - 1]!.stepKey)
  }
  await updateRow(trx, 'pipelines', pipelineId)
}

export function isHealthStep({ name, built_in }: { name: string; built_in: boolean }): boolean {
  return built_in && name === CHECK_HEALTH.name
}

/** Whether each of these pipelines could have the step. */
export async function checkHealthStepFits(trx: Transaction, of: Deploys) {
  const pipelines = await loadDeploys(trx, of)
  const steps = await loadSteps(
    trx,
    pipelines.map(({ id }) => id),
  )
  for (const { id, name } of pipelines) {
    const own = steps.filter((step) => step.pipeline_id === id)
    if (own.some(isHealthStep)) continue
    if (own.some((step) => step.name === CHECK_HEALTH.name))
      return conflict(
        `A custom step of the pipeline "${name}" is named ${CHECK_HEALTH.name}, like the step that a health check adds: rename it first.`,
      )
    if (own.length >= MAX_STEPS)
      return conflict(
        `The pipeline "${name}" has ${MAX_STEPS} steps, and a health check adds one: remove one first.`,
      )
  }
  return undefined
}
