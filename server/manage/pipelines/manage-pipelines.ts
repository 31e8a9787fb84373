import { sql, type Transaction, type UpdateObject } from 'kysely'
import { type Actor, recordAudit } from '#access/audit/record.ts'
import type { Caller } from '#access/authorization/caller.ts'
import { DEPLOY_STEPS, MOST_STEPS } from '#model/pipelines/built-in-steps.ts'
import { type ResourceName, refuseLocal } from '#model/pipelines/local-servers.ts'
import { lockAround } from '#model/pipelines/lock-environment.ts'
import type { PipelineBody, PipelineChange } from '#model/pipelines/schemas.ts'
import type { Tables } from '#platform/database/tables.ts'
import { isOutdated } from '#platform/http/if-match.ts'
import { conflict, type HttpProblem } from '#platform/http/problems.ts'
import { addBuiltInSteps, removeBuiltInSteps } from './built-in-rows.ts'
import { checkRunAfter, storeRunAfter } from './check-run-after.ts'
import { findPipeline, type PipelineRow } from './find-pipelines.ts'

/** Whoever makes a change, for the audit. */
export type ChangeDeps = { actor: Actor }

export type PipelineOutcome = { kind: 'done'; row: PipelineRow } | HttpProblem

const TABLES = { application: 'applications', server: 'servers' } as const

export async function createPipeline(
  trx: Transaction<Tables>,
  { actor }: ChangeDeps,
  caller: Caller,
  resource: ResourceName,
  body: PipelineBody,
): Promise<PipelineOutcome> {
  const held = await lockAround(trx, TABLES[resource.type], resource.id)
  if (!held) return { kind: 'gone' }
  const refusal =
    (await checkRunAfter(trx, caller, held, { id: null, name: body.name }, body.run_after ?? [])) ??
    (await refuseLocal(trx, caller, resource)) ??
    refuseOperation(body.operation, resource)
  if (refusal) return refusal

  const { id } = await trx
    .insertInto('pipelines')
    .values({
      environment_id: held.environment_id,
      resource_type: resource.type,
      application_id: resource.type === 'application' ? resource.id : null,
      server_id: resource.type === 'server' ? resource.id : null,
      name: body.name,
      operation: body.operation,
      max_parallel_actions: body.max_parallel_actions ?? 1,
      queue_policy: body.queue_policy ?? 'queue',
      rollout: rolloutColumn(body.rollout ?? null),
      created_by: caller.id,
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  if (body.operation === 'deploy') await addBuiltInSteps(trx, id)
  await storeRunAfter(trx, held.environment_id, id, body.run_after ?? [])
  const row = (await findPipeline(trx, id))!
  await recordAudit(trx, actor, {
    organizationId: held.organization_id,
    verb: 'created',
    subject: { type: 'pipeline', id, name: row.name },
    before: null,
    after: audited(row),
  })
  return { kind: 'done', row }
}

/** `ifMatch` is the row version that the caller last saw, when they said so. */
export async function changePipeline(
  trx: Transaction<Tables>,
  { actor }: ChangeDeps,
  caller: Caller,
  id: number,
  body: PipelineChange,
  ifMatch?: string,
): Promise<PipelineOutcome> {
  const held = await lockAround(trx, 'pipelines', id)
  const stored = held && (await findPipeline(trx, id, { lock: true }))
  if (!held || !stored) return { kind: 'gone' }
  if (isOutdated(ifMatch, stored.row_version)) return { kind: 'changed-meanwhile' }
  const refusal =
    (body.run_after && (await checkRunAfter(trx, caller, held, stored, body.run_after))) ??
    (runsAfterOthers(body, stored) ? await refuseLocal(trx, caller, resourceOf(stored)) : undefined) ??
    (await refuseOtherOperation(trx, caller, stored, body.operation ?? stored.operation))
  if (refusal) return refusal

  await storeOperation(trx, stored, body.operation ?? stored.operation)
  if (body.run_after) await storeRunAfter(trx, held.environment_id, id, body.run_after)
  const { name, max_parallel_actions, queue_policy, rollout } = body
  await updatePipeline(trx, id, {
    ...(name !== undefined && { name }),
    ...(max_parallel_actions !== undefined && { max_parallel_actions }),
    ...(queue_policy !== undefined && { queue_policy }),
    ...(rollout !== undefined && { rollout: rolloutColumn(rollout) }),
  })
  const row = (await findPipeline(trx, id))!
  await recordAudit(trx, actor, {
    organizationId: held.organization_id,
    verb: 'changed',
    subject: { type: 'pipeline', id, name: row.name },
    before: audited(stored),
    after: audited(row),
  })
  return { kind: 'done', row }
}

/** Also what changes around a pipeline, such as its steps, makes it another version of itself. */
export async function updatePipeline(
  trx: Transaction<Tables>,
  id: number,
  columns: UpdateObject<Tables, 'pipelines'> = {},
): Promise<void> {
  await trx
    .updateTable('pipelines')
    .set({ ...columns, updated_at: sql<string>`now()` })
    .where('id', '=', id)
    .execute()
}

export function resourceOf({ resource_type, resource_id }: PipelineRow): ResourceName {
  return { type: resource_type, id: resource_id }
}

/** What the audit keeps of a pipeline. */
export function audited(row: PipelineRow) {
  const { name, operation, max_parallel_actions, queue_policy, rollout, run_after } = row
  return { name, operation, max_parallel_actions, queue_policy, rollout, run_after }
}

/** What a pipeline follows decides when it runs, and with whose variables and commit. */
function runsAfterOthers({ run_after }: PipelineChange, stored: PipelineRow): boolean {
  return run_after !== undefined && new Set(run_after).symmetricDifference(new Set(stored.run_after)).size > 0
}

function refuseOperation(operation: string, { type }: ResourceName): HttpProblem | undefined {
  if (operation !== 'deploy' || type === 'application') return undefined
  return { kind: 'invalid', errors: { operation: ['deploy is for pipelines of applications'] } }
}

/** Runs and hooks are of their pipeline's operation: once there are any, it stays. */
async function refuseOtherOperation(
  trx: Transaction<Tables>,
  caller: Caller,
  stored: PipelineRow,
  operation: string,
): Promise<HttpProblem | undefined> {
  if (operation === stored.operation) return undefined
  const refusal =
    (await refuseLocal(trx, caller, resourceOf(stored))) ?? refuseOperation(operation, resourceOf(stored))
  if (refusal) return refusal
  const { rows } = await sql<{ isUsed: boolean; steps: number }>`
    select exists (select from actions where pipeline_id = ${stored.id})
        or exists (select from hooks where pipeline_id = ${stored.id} and deleted_at is null) as "isUsed",
      (select count(*) from pipeline_steps where pipeline_id = ${stored.id} and removed_at is null) as steps`.execute(
    trx,
  )
  const { isUsed, steps } = rows[0]!
  if (isUsed)
    return conflict(
      'The operation of a pipeline that has runs or hooks cannot be changed: make another pipeline.',
    )
  return operation === 'deploy' && steps + DEPLOY_STEPS.length > MOST_STEPS
    ? conflict(`A pipeline can have ${MOST_STEPS} steps; with those of a deploy it would have more.`)
    : undefined
}

async function storeOperation(
  trx: Transaction<Tables>,
  stored: PipelineRow,
  operation: string,
): Promise<void> {
  if (operation === stored.operation) return
  if (stored.operation === 'deploy') await removeBuiltInSteps(trx, stored.id)
  await updatePipeline(trx, stored.id, { operation })
  if (operation === 'deploy') await addBuiltInSteps(trx, stored.id)
}

function rolloutColumn(rollout: (PipelineBody['rollout'] & {}) | null): string | null {
  return rollout && JSON.stringify({ batch: rollout.batch, max_failed: rollout.max_failed ?? 0 })
}
