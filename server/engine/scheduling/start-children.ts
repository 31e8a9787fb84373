import { sql, type Transaction } from 'kysely'
import { type Start, startActions } from '#model/actions/start-actions.ts'
import { firstState } from '#model/actions/status.ts'
import { loadDefinitions } from '#model/pipelines/load-definitions.ts'
import { planRows, planRun } from '#model/pipelines/plan.ts'
import type { Deployment, Tables } from '#platform/database/tables.ts'

type Follower = {
  parent_id: number
  pipeline_id: number
  parent_pipeline: string
  /** Of the parent, from whoever it has them. */
  variables: Record<string, unknown>
  /** Of the parent, when it deploys the same repository. */
  deployment: Deployment | null
  repository: string | null
  default_branch: string | null
  provider_code: string | null
  credential_id: number | null
}

/**
 * The runs that follow these ones, made together with them: pending until their parent has completed. A
 * pipeline that cannot run has none. Followers have followers; circles are refused when pipelines are made.
 */
export async function startChildren(trx: Transaction<Tables>, parentIds: readonly number[]): Promise<void> {
  const followers = await findFollowers(trx, parentIds)
  if (followers.length === 0) return
  const definitions = await loadDefinitions(trx, [...new Set(followers.map((one) => one.pipeline_id))])
  const runnable = [...definitions.values()].flatMap((definition) => {
    const plan = planRun(definition)
    return plan.kind === 'plan' ? [{ definition, plan }] : []
  })
  const numbers = new Map(runnable.map(({ definition }, number) => [definition.id, number]))
  const { status, reason } = firstState({ waitsForParent: true })
  const starts = followers.flatMap((follower): Start[] => {
    const plan = numbers.get(follower.pipeline_id)
    if (plan === undefined) return []
    const { environmentId, operation } = runnable[plan]!.definition
    return [
      {
        plan,
        environment_id: environmentId,
        pipeline_id: follower.pipeline_id,
        type: operation,
        status,
        status_reason_code: reason,
        trigger_type: 'pipeline',
        trigger_comment: null,
        origin: null,
        trigger_name: follower.parent_pipeline,
        trigger_email: null,
        ip_address: null,
        triggered_by: null,
        hook_id: null,
        hook_request_id: null,
        // Its steps see the variables; shown as a hook's they would be where none was called.
        hook_parsed_variables: {},
        variables: follower.variables,
        deployment: operation === 'deploy' ? deploymentOf(follower) : null,
        commit: null,
        release_name: null,
        credential_id: follower.credential_id,
        retry_of: null,
        parent_id: follower.parent_id,
      },
    ]
  })
  const ids = await startActions(
    trx,
    starts,
    runnable.flatMap(({ plan }, number) => planRows(plan, number)),
  )
  if (ids.length > 0) await startChildren(trx, ids)
}

async function findFollowers(trx: Transaction<Tables>, parentIds: readonly number[]): Promise<Follower[]> {
  const { rows } = await sql<Follower>`
    select a.id as parent_id, p.id as pipeline_id, of_parent.name as parent_pipeline,
      coalesce(a.variables, a.hook_parsed_variables) as variables, application.repository, application.default_branch,
      application.credential_id, credential.provider_code,
      case when a.deployment ->> 'repository' = application.repository then a.deployment end as deployment
    from actions a
    join pipelines of_parent on of_parent.id = a.pipeline_id
    join pipeline_run_after link on link.after_pipeline_id = a.pipeline_id
    join pipelines p on p.id = link.pipeline_id
    left join applications application on application.id = p.application_id
    left join credentials credential on credential.id = application.credential_id
    where a.id = any(${parentIds}::bigint[])
    order by a.id, p.id`.execute(trx)
  return rows
}

/** The source is the parent's; a follower of a rollback makes a release of its own of that source. */
function deploymentOf(follower: Follower): Deployment {
  const source = follower.deployment ?? {
    source_type: 'branch',
    source_ref: follower.default_branch,
    repository: follower.repository,
    provider_name: follower.provider_code,
  }
  return { ...source, type: 'deploy' }
}
