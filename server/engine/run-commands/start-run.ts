import type { Transaction } from 'kysely'
import type { Enqueue } from '#engine/scheduling/jobs.ts'
import { startChildren, startOf } from '#engine/scheduling/start-children.ts'
import { type Start, startActions } from '#model/actions/start-actions.ts'
import { planRows, planRun } from '#model/pipelines/plan.ts'
import { acquireSlots, lockPipelines } from '#model/pipelines/queue-policy.ts'
import type { Database } from '#platform/database/connect.ts'
import type { Commit, Deployment, Tables } from '#platform/database/tables.ts'
import { conflict, type HttpProblem } from '#platform/http/problems.ts'
import type { RunnablePipeline } from './load-pipeline.ts'

export type RunDeps = { db: Database; enqueue: Enqueue }

/** The user who starts a run, and from where. */
export type Requester = { id: number; name: string; email: string; address: string; origin: string | null }

/** What a deploy uses; all null for other operations. */
export type DeploySource = {
  deployment: Deployment | null
  commit: Commit | null
  release_name: string | null
}

export const NO_SOURCE: DeploySource = { deployment: null, commit: null, release_name: null }

/** What distinguishes a run from other runs of its pipeline. */
export type RunDetails = DeploySource &
  Pick<
    Start,
    | 'trigger_type'
    | 'trigger_comment'
    | 'hook_id'
    | 'hook_request_id'
    | 'hook_parsed_variables'
    | 'variables'
    | 'retry_of'
  >

export type StartOutcome = { kind: 'started'; actionId: number } | HttpProblem

/** Starts a run on all servers of the definition, with the runs that follow it, and enqueues it. */
export async function startRun(
  trx: Transaction<Tables>,
  enqueue: Enqueue,
  { definition, credentialId }: RunnablePipeline,
  requester: Requester,
  details: RunDetails,
): Promise<StartOutcome> {
  const plan = planRun(definition)
  if (plan.kind === 'impossible') return conflict(plan.reason)
  if (!(await lockAgainstDeletion(trx, definition.id))) return conflict(DELETED)
  if (definition.queuePolicy === 'reject') {
    await lockPipelines(trx, [definition])
    const [hasSlot] = await acquireSlots(trx, [definition])
    if (!hasSlot) return conflict(BUSY)
  }
  const start: Start = {
    ...startOf(definition, 0, { waitsForParent: false }),
    origin: requester.origin,
    trigger_name: requester.name,
    trigger_email: requester.email,
    ip_address: requester.address,
    triggered_by: requester.id,
    credential_id: credentialId,
    parent_id: null,
    ...details,
  }
  const [id] = await startActions(trx, [start], planRows(plan, 0))
  const actionId = id!
  if (definition.hasFollowers) await startChildren(trx, [actionId])
  await enqueue.runs(trx, [actionId])
  return { kind: 'started', actionId }
}

/** Until the transaction ends it cannot be deleted: a deleted pipeline has no unfinished runs. */
async function lockAgainstDeletion(trx: Transaction<Tables>, id: number): Promise<boolean> {
  const row = await trx
    .selectFrom('pipelines')
    .select('id')
    .where('id', '=', id)
    .where('deleted_at', 'is', null)
    .forKeyShare()
    .executeTakeFirst()
  return row !== undefined
}

export const DELETED = 'The pipeline was deleted.'
export const BUSY = 'The pipeline is busy, and its queue policy rejects further runs.'
