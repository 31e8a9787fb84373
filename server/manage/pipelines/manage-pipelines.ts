// The pipelines room: people create, change and remove pipelines (here and in remove-pipelines.ts) and their
// steps (manage-steps.ts). What a run makes of them is in model/pipelines.
import { isDeepStrictEqual } from 'node:util'
import { sql } from 'kysely'
import { auditorOf, type Change, type Creation } from '#access/audit/record.ts'
import type { Caller } from '#access/authorization/caller.ts'
import { wholeChecks } from '#model/gates/checks-terms.ts'
import { checkLocalAccess, type ResourceName } from '#model/inventory/local-servers.ts'
import { DEPLOY_STEPS, MAX_STEPS } from '#model/pipelines/built-in-steps.ts'
import { healthCheckColumn } from '#model/pipelines/health-check.ts'
import { lockEnvironmentOf, lockForChange } from '#model/pipelines/lock-environment.ts'
import { wholeRollout } from '#model/pipelines/rollout.ts'
import type { PipelineBody, PipelineChange } from '#model/pipelines/schemas.ts'
import type { Transaction } from '#platform/database/connect.ts'
import { insertRow, updateRow } from '#platform/database/rows.ts'
import { conflict, GONE, type HttpProblem, invalidAt } from '#platform/http/problems.ts'
import { checkWaiting, storeChecksTerms } from './checks-gate.ts'
import { checkHealthStepFits, syncHealthSteps } from './health-step.ts'
import { findPipeline, type PipelineRow } from './read-pipelines.ts'
import { checkRunAfter, storeRunAfter } from './run-after.ts'
import { addBuiltInSteps, removeBuiltInSteps } from './step-rows.ts'

const auditPipeline = auditorOf<PipelineRow>('pipeline', audited)

export async function createPipeline(
  trx: Transaction,
  type: ResourceName['type'],
  request: Creation<PipelineBody>,
) {
  const { caller, parentId, body } = request
  const { name, operation, run_after = [], rollout, on_failure = 'revert', health_check } = body
  const resource = { type, id: parentId }
  const checks = wholeChecks(body.wait_for_checks ?? null)
  const scope = await lockEnvironmentOf(trx, `${type}s`, parentId)
  if (!scope) return GONE
  const problem =
    (await checkRunAfter(trx, caller, scope, { id: null, name }, run_after)) ??
    (await checkLocalAccess(trx, caller, resource)) ??
    checkOperation(operation, resource) ??
    checkFailure(rollout, on_failure) ??
    checkHealthCheck(operation, health_check) ??
    (await checkWaiting(trx, caller, { scope, resource, operation, before: null, terms: checks }))
  if (problem) return problem
  const check = healthCheckColumn(health_check)
  if (check.kind === 'invalid') return check

  const id = await insertRow(trx, 'pipelines', {
    environment_id: scope.environment_id,
    resource_type: type,
    [`${type}_id`]: parentId,
    name,
    operation,
    max_parallel_actions: body.max_parallel_actions,
    queue_policy: body.queue_policy,
    rollout: rolloutColumn(rollout),
    on_failure,
    health_check: check.value,
    wait_for_checks: checks && JSON.stringify(checks),
    created_by: caller.id,
  })
  if (checks) await storeChecksTerms(trx, { id, environmentId: scope.environment_id }, checks)
  if (operation === 'deploy') await addBuiltInSteps(trx, id)
  await syncHealthSteps(trx, { pipelineId: id })
  await storeRunAfter(trx, scope.environment_id, id, run_after)
  return auditPipeline.saved(trx, request, scope.organization_id, null, await findPipeline(trx, id))
}

export async function changePipeline(trx: Transaction, request: Change<PipelineChange>) {
  const { id, caller, ifMatch } = request
  const { operation, run_after, rollout, health_check, wait_for_checks, ...columns } = request.body
  const held = await lockForChange(trx, 'pipelines', id, findPipeline, ifMatch)
  if (held.kind !== 'locked') return held
  const { scope, row: before } = held
  const check = healthCheckColumn(health_check)
  const checks = wait_for_checks === undefined ? undefined : wholeChecks(wait_for_checks)
  const problem =
    (run_after && (await checkRunAfter(trx, caller, scope, before, run_after))) ??
    (isOtherRunAfter(run_after, before) || isOtherHealthCheck(check, before)
      ? await checkLocalAccess(trx, caller, resourceOf(before))
      : undefined) ??
    (await checkOtherOperation(trx, caller, before, operation)) ??
    checkFailure(rollout === undefined ? before.rollout : rollout, columns.on_failure ?? before.on_failure) ??
    checkHealthCheck(
      operation ?? before.operation,
      health_check === undefined ? before.health_check : health_check,
    ) ??
    (await checkWaiting(trx, caller, {
      scope,
      resource: resourceOf(before),
      operation: operation ?? before.operation,
      before: before.wait_for_checks,
      terms: checks === undefined ? before.wait_for_checks : checks,
    }))
  if (problem) return problem
  if (check.kind === 'invalid') return check
  const unfit = check.value && (await checkHealthStepFits(trx, { pipelineId: id }))
  if (unfit) return unfit

  if (operation !== undefined) await storeOperation(trx, before, operation)
  if (run_after) await storeRunAfter(trx, scope.environment_id, id, run_after)
  if (checks !== undefined && !isDeepStrictEqual(checks, before.wait_for_checks))
    await storeChecksTerms(trx, { id, environmentId: scope.environment_id }, checks)
  await updateRow(trx, 'pipelines', id, {
    ...columns,
    rollout: rolloutColumn(rollout),
    health_check: check.value,
    wait_for_checks: checks && JSON.stringify(checks),
  })
  await syncHealthSteps(trx, { pipelineId: id })
  return auditPipeline.saved(trx, request, scope.organization_id, before, await findPipeline(trx, id))
}

export function resourceOf({ resource_type, resource_id }: PipelineRow): ResourceName {
  return { type: resource_type, id: resource_id }
}

export function audited(row: PipelineRow) {
  const { name, operation, max_parallel_actions, queue_policy, on_failure, health_check, run_after } = row
  const { wait_for_checks } = row
  const rollout = wholeRollout(row.rollout)
  const plain = { name, operation, max_parallel_actions, queue_policy, rollout, on_failure, health_check }
  return { ...plain, wait_for_checks, run_after }
}

/** What a pipeline runs after decides when it runs, and with whose variables and commit. */
function isOtherRunAfter(run_after: readonly number[] | undefined, stored: PipelineRow): boolean {
  return run_after !== undefined && new Set(run_after).symmetricDifference(new Set(stored.run_after)).size > 0
}

/** It is asked on the servers: what it asks is as much what runs there as a step is. */
function isOtherHealthCheck(check: ReturnType<typeof healthCheckColumn>, { health_check }: PipelineRow) {
  if (check.kind === 'invalid' || check.value === undefined) return false
  return !isDeepStrictEqual(check.value && JSON.parse(check.value), health_check)
}

function checkHealthCheck(operation: string, check: object | null | undefined): HttpProblem | undefined {
  if (operation === 'deploy' || check == null) return undefined
  return invalidAt('health_check', 'is only for pipelines that deploy; set it to null')
}

function checkOperation(operation: string, { type }: ResourceName): HttpProblem | undefined {
  if (operation !== 'deploy' || type === 'application') return undefined
  return invalidAt('operation', 'deploy is only for pipelines of applications')
}

/** Runs and hooks have the operation of their pipeline: once there are any, it is fixed. */
async function checkOtherOperation(
  trx: Transaction,
  caller: Caller,
  stored: PipelineRow,
  operation = stored.operation,
): Promise<HttpProblem | undefined> {
  if (operation === stored.operation) return undefined
  const resource = resourceOf(stored)
  const problem = (await checkLocalAccess(trx, caller, resource)) ?? checkOperation(operation, resource)
  if (problem) return problem
  const hasCheck = (stored.health_check ?? stored.application_health_check) !== null
  const builtIn = DEPLOY_STEPS.length + (hasCheck ? 1 : 0)
  const { rows } = await sql<{ isUsed: boolean; steps: number }>`
    select exists (select from actions where pipeline_id = ${stored.id})
        or exists (select from hooks where pipeline_id = ${stored.id} and deleted_at is null) as "isUsed",
      (select count(*) from pipeline_steps where pipeline_id = ${stored.id} and removed_at is null) as steps
    `.execute(trx)
  const { isUsed, steps } = rows[0]!
  if (isUsed)
    return conflict(
      'The operation of a pipeline with runs or hooks cannot be changed: create another pipeline.',
    )
  return operation === 'deploy' && steps + builtIn > MAX_STEPS
    ? conflict(`A pipeline can have ${MAX_STEPS} steps; the built-in steps of a deploy would exceed that.`)
    : undefined
}

async function storeOperation(trx: Transaction, stored: PipelineRow, operation: string): Promise<void> {
  if (operation === stored.operation) return
  if (stored.operation === 'deploy') await removeBuiltInSteps(trx, stored.id)
  await updateRow(trx, 'pipelines', stored.id, { operation })
  if (operation === 'deploy') await addBuiltInSteps(trx, stored.id)
}

function rolloutColumn(rollout: PipelineBody['rollout']): string | null | undefined {
  return rollout && JSON.stringify(wholeRollout(rollout))
}

function checkFailure(rollout: PipelineBody['rollout'], onFailure: string): HttpProblem | undefined {
  if (rollout?.on_failure !== 'revert_all' || onFailure === 'revert') return undefined
  return invalidAt('rollout.on_failure', 'revert_all needs on_failure: revert')
}
