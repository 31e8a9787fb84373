import type { Database } from '#platform/database/connect.ts'
import { conflict, type HttpProblem } from '#platform/http/problems.ts'
import { checkInput, findUnknownServers, sourceOf } from './check-input.ts'
import {
  type DeployedApplication,
  deploymentOf,
  findLiveRelease,
  findReleaseBefore,
  loadPipeline,
  onServers,
  type RunnablePipeline,
} from './load-pipeline.ts'
import type { RunInput } from './schemas.ts'
import {
  type DeploySource,
  NO_SOURCE,
  type Requester,
  type RunDeps,
  type StartOutcome,
  startRun,
} from './start-run.ts'

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
type ResolvedRun = { kind: 'resolved'; pipeline: RunnablePipeline; source: DeploySource }

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
  const earlier = type === 'redeploy' ? live : await findReleaseBefore(db, application, live)
  if (!earlier) return conflict('The application has no release before the live one to roll back to.')
  const { commit, releaseName } = earlier
  return {
    deployment: deploymentOf(application, type, { source_type: 'commit', source_ref: commit.hash }),
    commit,
    release_name: type === 'rollback' ? releaseName : null,
  }
}

const VERBS = { redeploy: 'redeploy', rollback: 'roll back' }
