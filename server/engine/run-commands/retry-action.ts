import { sql } from 'kysely'
import { isEnd } from '#model/actions/status.ts'
import { conflict } from '#platform/http/problems.ts'
import { type DeployedApplication, deploymentOf, loadPipeline, onServers } from './load-pipeline.ts'
import {
  DELETED,
  type DeploySource,
  NO_SOURCE,
  type Requester,
  type RunDeps,
  type StartOutcome,
  startRun,
} from './start-run.ts'

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
