import { auditorOf, type Change, type Creation, type Removal } from '#access/audit/record.ts'
import { checkLocalAccess } from '#model/inventory/local-servers.ts'
import { BUILT_IN_NAMES, MAX_STEPS } from '#model/pipelines/built-in-steps.ts'
import { type LockedEnvironment, lockEnvironmentOf } from '#model/pipelines/lock-environment.ts'
import type { PipelineStep, StepBody, StepChange } from '#model/pipelines/schemas.ts'
import { type After, loadSteps, moveStep, presentStep, type StepRow } from '#model/pipelines/steps.ts'
import type { Database, Transaction } from '#platform/database/connect.ts'
import { insertRow, updateRow } from '#platform/database/rows.ts'
import { isOutdated } from '#platform/http/if-match.ts'
import type { Page } from '#platform/http/pagination.ts'
import {
  CHANGED_MEANWHILE,
  conflict,
  FieldErrors,
  GONE,
  type HttpProblem,
  invalidAt,
  unknownAt,
} from '#platform/http/problems.ts'
import { isHealthStep } from './health-step.ts'
import { resourceOf } from './manage-pipelines.ts'
import { findPipeline, type PipelineRow } from './read-pipelines.ts'
import { freePosition, replaceRow, retireRow, storeOrder } from './step-rows.ts'

/** The order of a step depends on its neighbors, so a step is presented as soon as it is found. */
export type FoundStep = { step: PipelineStep; row_version: string }

/** In running order. `name` filters by a part of the name, ignoring case. */
export async function listSteps(
  db: Database,
  pipelineId: number,
  name: string | undefined,
  { limit, offset }: Page,
) {
  const part = (name ?? '').toLowerCase()
  const steps = (await findSteps(db, pipelineId)).filter(({ step }) => step.name.toLowerCase().includes(part))
  const rows = steps.slice(offset, offset + limit)
  const hasMore = rows.length > 0 && offset + rows.length < steps.length
  return { rows, extent: { total: steps.length, hasMore } }
}

export async function findStep(db: Database, pipelineId: number, id: number): Promise<FoundStep | undefined> {
  return (await findSteps(db, pipelineId)).find(({ step }) => step.id === id)
}

async function findSteps(db: Database, pipelineId: number): Promise<FoundStep[]> {
  const rows = await loadSteps(db, [pipelineId])
  return rows.map((row, index) => ({ step: presentStep(row, index + 1), row_version: row.row_version }))
}

/** Changes of steps also give their pipeline a new version. */
export async function createStep(trx: Transaction, request: Creation<StepBody>) {
  const { parentId: pipelineId, caller } = request
  const { trigger_after, ...input } = request.body
  const held = await lockPipeline(trx, pipelineId)
  if (!held) return GONE
  const { steps, scope, pipeline } = held
  const last = steps.at(-1)?.stepKey ?? null
  const after = trigger_after === undefined ? last : trigger_after
  const problem =
    checkAfter(steps, { stepKey: NEW, name: input.name }, after) ??
    (await checkLocalAccess(trx, caller, resourceOf(pipeline))) ??
    checkStep(input, steps)
  if (problem) return problem
  if (steps.length >= MAX_STEPS) return conflict(`A pipeline can have ${MAX_STEPS} steps; remove one first.`)

  const position = freePosition(steps)
  const id = await insertRow(trx, 'pipeline_steps', { ...input, pipeline_id: pipelineId, position })
  await storeOrder(trx, pipelineId, id, after)
  await updateRow(trx, 'pipelines', pipelineId)
  const row = (await findStep(trx, pipelineId, id))!
  await auditStep.saved(trx, request, scope.organization_id, null, { ...row.step, pipeline_id: pipelineId })
  return { kind: 'done' as const, row }
}

export async function changeStep(trx: Transaction, request: Change<StepChange>) {
  const { parentId: pipelineId, id, body: input, caller } = request
  const held = await lockStep(trx, request)
  if (held.kind !== 'locked') return held
  const { steps, scope, pipeline, stored, before } = held
  const { trigger_after, ...content } = input
  const others = steps.filter((step) => step !== stored)
  const problem =
    (trigger_after !== undefined && checkAfter(steps, stored, trigger_after)) ||
    (await checkLocalAccess(trx, caller, resourceOf(pipeline))) ||
    checkStep({ ...marksOf(stored), ...input }, others, stored.name) ||
    (stored.built_in && checkBuiltIn(stored, input))
  if (problem) return problem

  await replaceRow(trx, stored, content)
  if (trigger_after !== undefined) await storeOrder(trx, pipelineId, id, trigger_after)
  await updateRow(trx, 'pipelines', pipelineId)
  const row = (await findStep(trx, pipelineId, id))!
  await auditStep.saved(trx, request, scope.organization_id, before, { ...row.step, pipeline_id: pipelineId })
  return { kind: 'done' as const, row }
}

export async function removeStep(trx: Transaction, request: Removal) {
  const { parentId: pipelineId, caller } = request
  const held = await lockStep(trx, request)
  if (held.kind !== 'locked') return held
  const { scope, pipeline, stored, before } = held
  const problem = await checkLocalAccess(trx, caller, resourceOf(pipeline))
  if (problem) return problem
  if (stored.built_in) return conflict('The built-in steps of a deploy cannot be removed.')

  await retireRow(trx, stored)
  await updateRow(trx, 'pipelines', pipelineId)
  return auditStep.removed(trx, request, scope.organization_id, before)
}

type AuditedStep = PipelineStep & { pipeline_id: number }

const auditStep = auditorOf<AuditedStep>('step', [
  'pipeline_id',
  'name',
  'description',
  'command',
  'run_as_user',
  'timeout_seconds',
  'idempotent',
  'irreversible',
  'run_on_revert',
  'order',
])

type Held = { scope: LockedEnvironment; pipeline: PipelineRow; steps: StepRow[] }

async function lockPipeline(trx: Transaction, pipelineId: number): Promise<Held | undefined> {
  const scope = await lockEnvironmentOf(trx, 'pipelines', pipelineId)
  const pipeline = scope && (await findPipeline(trx, pipelineId, { lock: true }))
  return pipeline && { scope, pipeline, steps: await loadSteps(trx, [pipelineId]) }
}

async function lockStep(
  trx: Transaction,
  { parentId: pipelineId, id, ifMatch }: Pick<Removal, 'parentId' | 'id' | 'ifMatch'>,
): Promise<(Held & { kind: 'locked'; stored: StepRow; before: AuditedStep }) | HttpProblem> {
  const held = await lockPipeline(trx, pipelineId)
  const index = held?.steps.findIndex((step) => step.stepKey === id) ?? -1
  const stored = held?.steps[index]
  if (!stored) return GONE
  if (isOutdated(ifMatch, stored.row_version)) return CHANGED_MEANWHILE
  const before = { ...presentStep(stored, index + 1), pipeline_id: pipelineId }
  return { kind: 'locked', ...held, stored, before }
}

/** Stands for a step that has no id yet. */
const NEW = 0

function checkAfter(steps: readonly StepRow[], moved: { stepKey: number; name: string }, after: After) {
  const isHealthCheck = steps.some(
    (step) => isHealthStep(step) && (step.stepKey === after || step.name === after),
  )
  if (isHealthCheck) return invalidAt('trigger_after', AFTER_HEALTH_CHECK)
  const { kind } = moveStep<{ stepKey: number; name: string }>(steps, moved, after)
  switch (kind) {
    case 'placed':
      return undefined
    case 'unknown':
      return unknownAt('trigger_after', 'is not a step of this pipeline')
    case 'after-itself':
      return invalidAt('trigger_after', 'must be another step')
  }
}

const AFTER_HEALTH_CHECK =
  'must not be check-health, which follows all steps that run after activation: name a step before it, or remove-old-releases'

const MAX_COMMAND_BYTES = 65_536

/** What a schema cannot express about a step. Pure. */
function checkStep(
  { name, command = '', idempotent, run_on_revert }: StepChange,
  others: readonly { name: string }[],
  storedName?: string,
): HttpProblem | undefined {
  const errors = new FieldErrors()
  // A step may have had its name before it became that of a built-in one.
  if (name !== undefined && name !== storedName && BUILT_IN_NAMES.has(name))
    errors.add('name', 'is the name of a built-in step')
  else if (others.some((other) => other.name === name))
    errors.add('name', 'is taken by another step of this pipeline')
  if (Buffer.byteLength(command) > MAX_COMMAND_BYTES) errors.add('command', 'must not be longer than 64 KiB')
  if (run_on_revert && !idempotent)
    errors.add('run_on_revert', 'needs idempotent: true, because the step runs again')
  return errors.problem
}

function marksOf({ idempotent, run_on_revert }: StepRow) {
  return { idempotent, run_on_revert }
}

function checkBuiltIn(stored: StepRow, input: StepChange): HttpProblem | undefined {
  if (isHealthStep(stored))
    return conflict('This step follows from the health check of the pipeline or application: change that.')
  const fixed = Object.keys(input).filter((field) => field !== 'timeout_seconds')
  if (fixed.length === 0) return undefined
  return conflict(
    'This is a built-in step: only its timeout_seconds can be changed.',
    Object.fromEntries(fixed.map((field) => [field, ['is fixed for built-in steps']])),
  )
}
