import type { Transaction } from 'kysely'
import { recordAudit } from '#access/audit/record.ts'
import type { Caller } from '#access/authorization/caller.ts'
import { MOST_STEPS } from '#model/pipelines/built-in-steps.ts'
import { loadSteps, type StepRow } from '#model/pipelines/load-steps.ts'
import { refuseLocal } from '#model/pipelines/local-servers.ts'
import { type EnvironmentHeld, lockAround } from '#model/pipelines/lock-environment.ts'
import { type After, placeStep } from '#model/pipelines/place-step.ts'
import type { PipelineStep, StepBody, StepChange } from '#model/pipelines/schemas.ts'
import type { Tables } from '#platform/database/tables.ts'
import { isOutdated } from '#platform/http/if-match.ts'
import { conflict, type HttpProblem } from '#platform/http/problems.ts'
import { checkStep, refuseBuiltIn } from './check-step.ts'
import { findPipeline, type PipelineRow } from './find-pipelines.ts'
import { type FoundStep, findStep } from './find-steps.ts'
import { type ChangeDeps, resourceOf, updatePipeline } from './manage-pipelines.ts'
import { freePosition, replaceRow, retireRow, storeOrder } from './step-rows.ts'

export type StepOutcome = { kind: 'done'; row: FoundStep } | HttpProblem

type Held = { place: EnvironmentHeld; pipeline: PipelineRow; steps: StepRow[] }

export async function createStep(
  trx: Transaction<Tables>,
  { actor }: ChangeDeps,
  caller: Caller,
  pipelineId: number,
  body: StepBody,
): Promise<StepOutcome> {
  const held = await holdPipeline(trx, pipelineId)
  if (!held) return { kind: 'gone' }
  const { steps, place, pipeline } = held
  const last = steps.at(-1)?.known_as ?? null
  const after = body.trigger_after === undefined ? last : body.trigger_after
  const refusal =
    refuseAfter(steps, { known_as: NEW, name: body.name }, after) ??
    (await refuseLocal(trx, caller, resourceOf(pipeline))) ??
    checkStep(body, steps)
  if (refusal) return refusal
  if (steps.length >= MOST_STEPS)
    return conflict(`A pipeline can have ${MOST_STEPS} steps; remove one first.`)

  const { id } = await trx
    .insertInto('pipeline_steps')
    .values({
      pipeline_id: pipelineId,
      position: freePosition(steps),
      name: body.name,
      description: body.description ?? null,
      command: body.command,
      run_as_user: body.run_as_user ?? null,
      timeout_seconds: body.timeout_seconds ?? 600,
      idempotent: body.idempotent ?? false,
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  await storeOrder(trx, pipelineId, id, after)
  await updatePipeline(trx, pipelineId)
  const made = await readStep(trx, pipelineId, id)
  await recordAudit(trx, actor, {
    organizationId: place.organization_id,
    verb: 'created',
    subject: { type: 'step', id, name: made.step.name },
    before: null,
    after: audited(made.step, pipelineId),
  })
  return { kind: 'done', row: made }
}

/** `ifMatch` is the row version that the caller last saw, when they said so. */
export async function changeStep(
  trx: Transaction<Tables>,
  { actor }: ChangeDeps,
  caller: Caller,
  pipelineId: number,
  id: number,
  body: StepChange,
  ifMatch?: string,
): Promise<StepOutcome> {
  const held = await holdPipeline(trx, pipelineId)
  const stored = held?.steps.find((step) => step.known_as === id)
  if (!held || !stored) return { kind: 'gone' }
  const { steps, place, pipeline } = held
  if (isOutdated(ifMatch, stored.row_version)) return { kind: 'changed-meanwhile' }
  const { trigger_after, ...content } = body
  const others = steps.filter((step) => step !== stored)
  const refusal =
    (trigger_after !== undefined && refuseAfter(steps, stored, trigger_after)) ||
    (await refuseLocal(trx, caller, resourceOf(pipeline))) ||
    checkStep(body, others) ||
    (stored.built_in && refuseBuiltIn(body))
  if (refusal) return refusal

  const before = await readStep(trx, pipelineId, id)
  await replaceRow(trx, stored, content)
  if (trigger_after !== undefined) await storeOrder(trx, pipelineId, id, trigger_after)
  await updatePipeline(trx, pipelineId)
  const changed = await readStep(trx, pipelineId, id)
  await recordAudit(trx, actor, {
    organizationId: place.organization_id,
    verb: 'changed',
    subject: { type: 'step', id, name: changed.step.name },
    before: audited(before.step, pipelineId),
    after: audited(changed.step, pipelineId),
  })
  return { kind: 'done', row: changed }
}

export async function removeStep(
  trx: Transaction<Tables>,
  { actor }: ChangeDeps,
  caller: Caller,
  pipelineId: number,
  id: number,
  ifMatch?: string,
): Promise<{ kind: 'removed' } | HttpProblem> {
  const held = await holdPipeline(trx, pipelineId)
  const stored = held?.steps.find((step) => step.known_as === id)
  if (!held || !stored) return { kind: 'gone' }
  const { place, pipeline } = held
  if (isOutdated(ifMatch, stored.row_version)) return { kind: 'changed-meanwhile' }
  const refusal = await refuseLocal(trx, caller, resourceOf(pipeline))
  if (refusal) return refusal
  if (stored.built_in) return conflict('Every deploy has its built-in steps; they cannot be removed.')

  const { step } = await readStep(trx, pipelineId, id)
  await retireRow(trx, stored)
  await updatePipeline(trx, pipelineId)
  await recordAudit(trx, actor, {
    organizationId: place.organization_id,
    verb: 'removed',
    subject: { type: 'step', id, name: step.name },
    before: audited(step, pipelineId),
    after: null,
  })
  return { kind: 'removed' }
}

async function readStep(trx: Transaction<Tables>, pipelineId: number, id: number) {
  return (await findStep(trx, pipelineId, id))!
}

async function holdPipeline(trx: Transaction<Tables>, pipelineId: number): Promise<Held | undefined> {
  const place = await lockAround(trx, 'pipelines', pipelineId)
  const pipeline = place && (await findPipeline(trx, pipelineId, { lock: true }))
  return pipeline && { place, pipeline, steps: await loadSteps(trx, [pipelineId]) }
}

/** Stands for a step that has no id yet. */
const NEW = 0

function refuseAfter(
  steps: readonly StepRow[],
  moved: { known_as: number; name: string },
  after: After,
): HttpProblem | undefined {
  const { kind } = placeStep<{ known_as: number; name: string }>(steps, moved, after)
  switch (kind) {
    case 'placed':
      return undefined
    case 'unknown':
      return { kind: 'unknown', errors: { trigger_after: ['is not a step of this pipeline'] } }
    case 'after-itself':
      return { kind: 'invalid', errors: { trigger_after: ['must be another step'] } }
  }
}

function audited(
  { name, description, command, run_as_user, timeout_seconds, idempotent, order }: PipelineStep,
  pipeline_id: number,
) {
  return { pipeline_id, name, description, command, run_as_user, timeout_seconds, idempotent, order }
}
