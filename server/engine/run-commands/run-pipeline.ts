import type { Enqueueing } from '#engine/scheduling/enqueueing.ts'
import type { Database } from '#platform/database/connect.ts'
import type { HttpProblem } from '#platform/http/problems.ts'
import { checkWish, findStrangers, sourceOf } from './check-wish.ts'
import { findLiveRelease, findReleaseBefore } from './earlier-release.ts'
import {
  type DeployedApplication,
  deploymentOf,
  loadPipeline,
  type RunnablePipeline,
} from './load-pipeline.ts'
import type { RunInput } from './schemas.ts'
import {
  type Asker,
  type Impossible,
  impossible,
  NOTHING_TAKEN,
  onServers,
  type Started,
  startRun,
  type Taken,
} from './start-run.ts'

export type RunDeps = { db: Database; enqueue: Enqueueing }

export type Unsettled = Extract<HttpProblem, { kind: 'gone' | 'unknown' | 'invalid' }> | Impossible

export type RunOutcome = Started | Unsettled

/** What a run would consist of: the pipeline with the servers that it is to run on, and what a deploy takes. */
export type Settled = { kind: 'settled'; pipeline: RunnablePipeline; taken: Taken }

/** Starts a run that a person asks for. */
export function runPipeline(
  { db, enqueue }: RunDeps,
  pipelineId: number,
  wish: RunInput,
  asker: Asker,
): Promise<RunOutcome> {
  return db.transaction().execute(async (trx): Promise<RunOutcome> => {
    const settled = await settleWish(trx, pipelineId, wish)
    if (settled.kind !== 'settled') return settled
    return startRun(
      trx,
      settled.pipeline,
      asker,
      {
        ...settled.taken,
        trigger_type: 'manual',
        trigger_comment: wish.trigger_comment ?? null,
        hook_id: null,
        hook_request_id: null,
        hook_parsed_variables: {},
        variables: wish.variables ?? {},
        retry_of: null,
      },
      enqueue,
    )
  })
}

export async function settleWish(
  db: Database,
  pipelineId: number,
  wish: RunInput,
): Promise<Settled | Unsettled> {
  const pipeline = await loadPipeline(db, pipelineId)
  if (!pipeline) return { kind: 'gone' }
  const strangers = findStrangers(wish, pipeline)
  if (Object.keys(strangers).length > 0) return { kind: 'unknown', errors: strangers }
  const errors = checkWish(wish, pipeline)
  if (Object.keys(errors).length > 0) return { kind: 'invalid', errors }
  const taken = pipeline.application ? await chooseWhat(db, wish, pipeline.application) : NOTHING_TAKEN
  if ('kind' in taken) return taken
  const chosen = wish.servers ? onServers(pipeline, new Set(wish.servers)) : pipeline
  return { kind: 'settled', pipeline: chosen, taken }
}

async function chooseWhat(
  db: Database,
  wish: RunInput,
  application: DeployedApplication,
): Promise<Taken | Impossible> {
  const { type = 'deploy' } = wish
  if (type === 'deploy') {
    const deployment = deploymentOf(application, type, sourceOf(wish, application.defaultBranch))
    return { deployment, commit: null, release_name: null }
  }
  const live = await findLiveRelease(db, application)
  if (!live)
    return impossible(`The application has no live release yet, so there is nothing to ${VERBS[type]}.`)
  const earlier = type === 'redeploy' ? live : await findReleaseBefore(db, application, live)
  if (!earlier) return impossible('The application has no release before the live one to go back to.')
  const { commit, releaseName } = earlier
  return {
    deployment: deploymentOf(application, type, { source_type: 'commit', source_ref: commit.hash }),
    commit,
    release_name: type === 'rollback' ? releaseName : null,
  }
}

const VERBS = { redeploy: 'deploy again', rollback: 'go back from' }
