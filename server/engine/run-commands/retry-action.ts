import { type Selectable, sql } from 'kysely'
import { isEnd } from '#model/actions/status.ts'
import type { Database } from '#platform/database/connect.ts'
import type { ActionsTable } from '#platform/database/tables.ts'
import { type DeployedApplication, deploymentOf, loadPipeline } from './load-pipeline.ts'
import type { RunDeps } from './run-pipeline.ts'
import {
  type Asker,
  impossible,
  NOTHING_TAKEN,
  onServers,
  REMOVED,
  type Started,
  startRun,
  type Taken,
} from './start-run.ts'

export type RetryOutcome = Started | { kind: 'gone' }

type Earlier = Pick<
  Selectable<ActionsTable>,
  | 'status'
  | 'pipeline_id'
  | 'hook_id'
  | 'hook_request_id'
  | 'hook_parsed_variables'
  | 'variables'
  | 'deployment'
  | 'commit'
  | 'release_name'
> & { server_ids: number[] }

/** Starts a run like one that has ended: with its servers, variables and commit, and the steps of today. */
export function retryAction({ db, enqueue }: RunDeps, actionId: number, asker: Asker): Promise<RetryOutcome> {
  return db.transaction().execute(async (trx): Promise<RetryOutcome> => {
    const earlier = await findEarlier(trx, actionId)
    if (!earlier) return { kind: 'gone' }
    const pipeline = await loadPipeline(trx, earlier.pipeline_id)
    if (!pipeline) return impossible(REMOVED)
    if (!isEnd(earlier.status)) return impossible('The action has not ended yet; cancel it first, or wait.')
    const again = onServers(pipeline, new Set(earlier.server_ids))
    if (again.definition.servers.length === 0)
      return impossible('The pipeline no longer has any of the servers that the action ran on.')
    const { hook_id, hook_request_id, hook_parsed_variables, variables } = earlier
    return startRun(
      trx,
      again,
      asker,
      {
        ...(pipeline.application ? takeAgain(earlier, pipeline.application) : NOTHING_TAKEN),
        trigger_type: 'retry',
        trigger_comment: null,
        hook_id,
        hook_request_id,
        hook_parsed_variables,
        variables,
        retry_of: actionId,
      },
      enqueue,
    )
  })
}

async function findEarlier(db: Database, actionId: number): Promise<Earlier | undefined> {
  const { rows } = await sql<Earlier>`
    select status, pipeline_id, hook_id, hook_request_id, hook_parsed_variables, variables, deployment, commit,
      release_name, array(select server_id from targets where action_id = actions.id) as server_ids
    from actions where id = ${actionId}`.execute(db)
  return rows[0]
}

/** The very commit, once it is known; before that, what was asked for. A rollback goes to the same release. */
function takeAgain({ deployment, commit, release_name }: Earlier, application: DeployedApplication): Taken {
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
