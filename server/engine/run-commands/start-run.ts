import { sql } from 'kysely'
import type { Enqueue } from '#engine/scheduling/jobs.ts'
import { startChildren, startOf } from '#engine/scheduling/start-children.ts'
import { type Start, startActions } from '#model/actions/start-actions.ts'
import { isEnd } from '#model/actions/status.ts'
import { type PipelineDefinition, planRows, planRun } from '#model/pipelines/plan.ts'
import { acquireSlots, lockPipelines } from '#model/pipelines/queue-policy.ts'
import type { Database, Transaction } from '#platform/database/connect.ts'
import type { Commit, Deployment } from '#platform/database/tables.ts'
import { conflict, type HttpProblem } from '#platform/http/problems.ts'
import { checkInput, findUnknownServers, sourceOf } from './check-input.ts'
import {
  describeUnknownRelease,
  type EarlierRelease,
  findLiveRelease,
  findRelease,
  findReleaseBefore,
} from './find-release.ts'
import {
  type DeployedApplication,
  deploymentOf,
  loadPipeline,
  onServers,
  type RunnablePipeline,
} from './load-pipeline.ts'
import type { RunInput } from './schemas.ts'

export type RunDeps = { db: Database; enqueue: Enqueue }

/** The user who starts a run, and from where. */
export type Requester = { id: number; name: string; email: string; address: string; origin: string | null }

/** What a deploy uses; all null for other operations. */
export type DeploySource = {
  deployment: Deployment | null
  commit: Commit | null
  release_name: string | null
}

const NO_SOURCE: DeploySource = { deployment: null, commit: null, release_name: null }

/** What distinguishes a run from other runs of its pipeline by the same user. */
type RunDetails = Omit<Start, 'credential_id' | keyof ReturnType<typeof newStart>>

export type StartOutcome = { kind: 'started'; actionId: number } | HttpProblem

/** Starts a run for a user. */
export function runPipeline(
  { db, enqueue }: RunDeps,
  pipelineId: number,
  input: RunInput,
  requester: Requester,
): Promise<StartOutcome> {
  return db.transaction().execute(async (trx): Promise<StartOutcome> => {
    const resolved = await resolveRun(trx, pipelineId, input)
    if (resolved.kind !== 'resolved') return resolved
    return startRun(trx, enqueue, resolved.pipeline, requester, {
      ...resolved.source,
      trigger_type: 'manual',
      trigger_comment: input.trigger_comment ?? null,
      hook_id: null,
      hook_request_id: null,
      hook_parsed_variables: {},
      variables: input.variables ?? {},
      retry_of: null,
    })
  })
}

/** What a run would consist of: the pipeline with the servers to run on, and the source of a deploy. */
export type ResolvedRun = { kind: 'resolved'; pipeline: RunnablePipeline; source: DeploySource }

export async function resolveRun(
  db: Database,
  pipelineId: number,
  input: RunInput,
): Promise<ResolvedRun | HttpProblem> {
  const pipeline = await loadPipeline(db, pipelineId)
  if (!pipeline) return { kind: 'gone' }
  const unknown = findUnknownServers(input, pipeline)
  if (Object.keys(unknown).length > 0) return { kind: 'unknown', errors: unknown }
  const errors = checkInput(input, pipeline)
  if (Object.keys(errors).length > 0) return { kind: 'invalid', errors }
  const source = pipeline.application ? await resolveSource(db, input, pipeline.application) : NO_SOURCE
  if ('kind' in source) return source
  return { kind: 'resolved', pipeline: input.servers ? onServers(pipeline, input.servers) : pipeline, source }
}

async function resolveSource(
  db: Database,
  input: RunInput,
  application: DeployedApplication,
): Promise<DeploySource | HttpProblem> {
  const { type = 'deploy' } = input
  if (type === 'deploy') {
    const deployment = deploymentOf(application, type, sourceOf(input, application.defaultBranch))
    return { ...NO_SOURCE, deployment }
  }
  const live = await findLiveRelease(db, application)
  if (!live) return conflict(`The application has no live release, so there is nothing to ${VERBS[type]}.`)
  const earlier = type === 'redeploy' ? live : await findRollback(db, application, live, input.release_name)
  if ('kind' in earlier) return earlier
  const { commit, releaseName } = earlier
  return {
    deployment: deploymentOf(application, type, { source_type: 'commit', source_ref: commit.hash }),
    commit,
    release_name: type === 'rollback' ? releaseName : null,
  }
}

/** The release that was named, or the one before the live one. */
async function findRollback(
  db: Database,
  application: DeployedApplication,
  live: EarlierRelease,
  name: string | undefined,
): Promise<EarlierRelease | HttpProblem> {
  if (name === undefined) {
    const before = await findReleaseBefore(db, application, live)
    return before ?? conflict('The application has no release before the live one to roll back to.')
  }
  const named = name === live.releaseName ? undefined : await findRelease(db, application, name)
  if (named) return named
  const message = await describeUnknownRelease(db, application, live, name)
  return { kind: 'invalid', errors: { release_name: [message] } }
}

const VERBS = { redeploy: 'redeploy', rollback: 'roll back' }

/** Starts a run on all servers of the definition, with the runs that follow it, and enqueues it. */
async function startRun(
  trx: Transaction,
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
  const start: Start = { ...newStart(definition, requester), credential_id: credentialId, ...details }
  const [id] = await startActions(trx, [start], planRows(plan, 0))
  const actionId = id!
  if (definition.hasDependents) await startChildren(trx, [actionId])
  await enqueue.runs(trx, [actionId])
  return { kind: 'started', actionId }
}

function newStart(definition: PipelineDefinition, { id, name, email, address, origin }: Requester) {
  const trigger = { triggered_by: id, trigger_name: name, trigger_email: email, ip_address: address, origin }
  return { ...startOf(definition, 0, { waitsForParent: false }), ...trigger, parent_id: null }
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
      trigger_comment: null,
      hook_id,
      hook_request_id,
      hook_parsed_variables,
      variables,
      retry_of: actionId,
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
