import { sql } from 'kysely'
import { type Overrider, prepareOverrides } from '#engine/gates/override.ts'
import type { Override } from '#engine/gates/schemas.ts'
import type { Enqueue } from '#engine/scheduling/jobs.ts'
import { startChildren, startOf } from '#engine/scheduling/start-children.ts'
import { NO_DETAILS, type Start, startActions } from '#model/actions/start-actions.ts'
import { isEnd } from '#model/actions/status.ts'
import { planRows, planRun } from '#model/pipelines/plan.ts'
import { acquireSlots, lockPipelines } from '#model/pipelines/queue-policy.ts'
import type { Database, Transaction } from '#platform/database/connect.ts'
import { conflict, type HttpProblem } from '#platform/http/problems.ts'
import { checkInput, findUnknownServers } from './check-input.ts'
import {
  type DeployedApplication,
  deploymentOf,
  loadPipeline,
  onServers,
  type RunnablePipeline,
} from './load-pipeline.ts'
import {
  type DeploySource,
  findUnknownRun,
  NO_SOURCE,
  type ResolvedSource,
  resolveSource,
} from './resolve-source.ts'
import type { RetryInput, RunInput } from './schemas.ts'

export type RunDeps = { db: Database; enqueue: Enqueue }

/** The user who starts a run, from where, and whether they may view actions of its environment. */
export type Requester = {
  id: number
  name: string
  email: string
  address: string
  origin: string | null
  seesActions: boolean
  /** For gates that the run is let through. */
  overrider: Overrider
}

/** What distinguishes a run from other runs of its pipeline by the same user. */
type RunDetails = Pick<Start, 'trigger_type' | keyof DeploySource> &
  Partial<Start> & { overrides?: Override[] }

export type StartOutcome = { kind: 'started'; actionId: number } | HttpProblem

/** Starts a run for a user. */
export function runPipeline(
  { db, enqueue }: RunDeps,
  pipelineId: number,
  input: RunInput,
  requester: Requester,
): Promise<StartOutcome> {
  return db.transaction().execute(async (trx): Promise<StartOutcome> => {
    const resolved = await resolveRun(trx, pipelineId, input, requester)
    if (resolved.kind !== 'resolved') return resolved
    return startRun(trx, enqueue, resolved.pipeline, requester, {
      ...resolved.source,
      trigger_type: 'manual',
      trigger_comment: input.trigger_comment ?? null,
      variables: input.variables ?? {},
      overrides: input.override,
    })
  })
}

/** What a run would consist of: the pipeline with the servers to run on, and the source of a deploy. */
export type ResolvedRun = { kind: 'resolved'; pipeline: RunnablePipeline } & ResolvedSource

/** `seesActions`: of the environment. */
export async function resolveRun(
  db: Database,
  pipelineId: number,
  input: RunInput,
  viewer: { seesActions: boolean },
): Promise<ResolvedRun | HttpProblem> {
  const all = await loadPipeline(db, pipelineId)
  if (!all) return { kind: 'gone' }
  const unknown = { ...findUnknownServers(input, all), ...(await findUnknownRun(db, input, all, viewer)) }
  if (Object.keys(unknown).length > 0) return { kind: 'unknown', errors: unknown }
  const errors = checkInput(input, all)
  if (Object.keys(errors).length > 0) return { kind: 'invalid', errors }
  const pipeline = input.servers ? onServers(all, input.servers) : all
  const resolved = await resolveSource(db, input, pipeline)
  return 'kind' in resolved ? resolved : { kind: 'resolved', pipeline, ...resolved }
}

/** Starts a run on all servers of the definition, with the runs that follow it, and enqueues it. */
async function startRun(
  trx: Transaction,
  enqueue: Enqueue,
  { definition, credentialId }: RunnablePipeline,
  requester: Requester,
  { overrides = [], ...run }: RunDetails,
): Promise<StartOutcome> {
  const plan = planRun(definition)
  if (plan.kind === 'impossible') return conflict(plan.reason)
  if (!(await lockAgainstDeletion(trx, definition.id))) return conflict(DELETED)
  if (definition.queuePolicy === 'reject') {
    await lockPipelines(trx, [definition])
    const [hasSlot] = await acquireSlots(trx, [definition])
    if (!hasSlot) return conflict(BUSY)
  }
  const overridden = await prepareOverrides(trx, overrides, requester.overrider)
  if (overridden.kind !== 'allowed') return overridden
  const { id, name, email, address, origin } = requester
  const trigger = { triggered_by: id, trigger_name: name, trigger_email: email, ip_address: address, origin }
  const start = startOf(definition, 0, { waitsForParent: false })
  const details = { ...NO_DETAILS, ...start, ...trigger, credential_id: credentialId, ...run }
  const [actionId] = await startActions(trx, [details], planRows(plan, 0))
  await overridden.store(actionId!)
  if (definition.hasDependents) await startChildren(trx, [actionId!])
  await enqueue.runs(trx, [actionId!])
  return { kind: 'started', actionId: actionId! }
}

/** Until the transaction ends it cannot be deleted: a deleted pipeline has no unfinished runs. */
async function lockAgainstDeletion(trx: Transaction, id: number): Promise<boolean> {
  const row = await trx
    .selectFrom('pipelines')
    .select('id')
    .where('id', '=', id)
    .where('deleted_at', 'is', null)
    .forKeyShare()
    .executeTakeFirst()
  return row !== undefined
}

const DELETED = 'The pipeline was deleted.'
export const BUSY = 'The pipeline is busy, and its queue policy rejects further runs.'

/** Starts a run like one that has ended: same servers, variables and commit, current steps. */
export function retryAction(
  { db, enqueue }: RunDeps,
  actionId: number,
  { override: overrides }: RetryInput,
  requester: Requester,
): Promise<StartOutcome> {
  return db.transaction().execute(async (trx): Promise<StartOutcome> => {
    const earlier = await trx
      .selectFrom('actions')
      .select(['status', 'pipeline_id', 'deployment', 'commit', 'release_name'])
      .select(['hook_id', 'hook_request_id', 'hook_parsed_variables', 'variables'])
      .select(
        sql<number[]>`array(select server_id from targets where action_id = actions.id)`.as('server_ids'),
      )
      .where('id', '=', actionId)
      .executeTakeFirst()
    if (!earlier) return { kind: 'gone' }
    const pipeline = await loadPipeline(trx, earlier.pipeline_id)
    if (!pipeline) return conflict(DELETED)
    if (!isEnd(earlier.status)) return conflict('The action has not ended yet. Cancel it first, or wait.')
    const again = onServers(pipeline, earlier.server_ids)
    if (again.definition.servers.length === 0)
      return conflict('The pipeline no longer has any of the servers that the action ran on.')
    const { hook_id, hook_request_id, hook_parsed_variables, variables } = earlier
    return startRun(trx, enqueue, again, requester, {
      ...(pipeline.application ? repeatSource(earlier, pipeline.application) : NO_SOURCE),
      trigger_type: 'retry',
      hook_id,
      hook_request_id,
      hook_parsed_variables,
      variables,
      retry_of: actionId,
      overrides,
    })
  })
}

/** The very commit, once it is known; before that, the source. A rollback goes to the same release. */
function repeatSource(earlier: DeploySource, application: DeployedApplication): DeploySource {
  const { deployment, commit, release_name } = earlier
  const type = deployment?.type ?? 'deploy'
  const source = commit?.hash
    ? { source_type: 'commit', source_ref: commit.hash }
    : {
        source_type: deployment?.source_type ?? 'branch',
        source_ref: deployment?.source_ref ?? application.defaultBranch,
      }
  return {
    deployment: deploymentOf(application, type, source),
    commit: commit?.hash ? commit : null,
    release_name: type === 'rollback' ? release_name : null,
  }
}
