import { sql } from 'kysely'
import { NO_DETAILS, type Start, startActions } from '#model/actions/start-actions.ts'
import { firstState } from '#model/actions/status.ts'
import { loadDefinitions, type PipelineDefinition, planRows, planRun } from '#model/pipelines/plan.ts'
import type { Transaction } from '#platform/database/connect.ts'

/** What the runs of a pipeline have in common. `plan` numbers the plan that they refer to. */
export function startOf(definition: PipelineDefinition, plan: number, start: { waitsForParent: boolean }) {
  const { status, reason } = firstState(start)
  const { id, environmentId, operation } = definition
  const state = { status, status_reason_code: reason }
  return { plan, environment_id: environmentId, pipeline_id: id, type: operation, ...state }
}

/**
 * `variables` are those of the parent, wherever it got them. `hook_parsed_variables` are those of the hook that started
 * the first action of the chain: templates of receivers read the same values as the steps.
 */
type Child = Pick<
  Start,
  | 'parent_id'
  | 'pipeline_id'
  | 'trigger_name'
  | 'hook_parsed_variables'
  | 'variables'
  | 'deployment'
  | 'credential_id'
>

/**
 * Starts the runs that follow these ones, together with them: pending until their parent has completed. A
 * pipeline that cannot run is left out. Children have children; cycles are rejected when pipelines are saved.
 */
export async function startChildren(trx: Transaction, parentIds: readonly number[]): Promise<void> {
  const children = await findChildren(trx, parentIds)
  if (children.length === 0) return
  const definitions = await loadDefinitions(trx, [...new Set(children.map((child) => child.pipeline_id))])
  const runnable = [...definitions.values()].flatMap((definition) => {
    const plan = planRun(definition)
    return plan.kind === 'plan' ? [{ definition, plan }] : []
  })
  const numbers = new Map(runnable.map(({ definition }, number) => [definition.id, number]))
  const starts = children.flatMap((child): Start[] => {
    const number = numbers.get(child.pipeline_id)
    if (number === undefined) return []
    const start = startOf(runnable[number]!.definition, number, { waitsForParent: true })
    return [{ ...NO_DETAILS, ...child, ...start, trigger_type: 'pipeline' }]
  })
  const plans = runnable.flatMap(({ plan }, number) => planRows(plan, number))
  const ids = await startActions(trx, starts, plans)
  if (ids.length > 0) await startChildren(trx, ids)
}

/** A child deploys the source of its parent, if that has the same repository; of a rollback, as a new release. */
async function findChildren(trx: Transaction, parentIds: readonly number[]): Promise<Child[]> {
  const { rows } = await sql<Child>`
    select a.id as parent_id, p.id as pipeline_id, of_parent.name as trigger_name,
      a.hook_parsed_variables, coalesce(a.variables, a.hook_parsed_variables) as variables,
      case when p.operation = 'deploy' then application.credential_id end as credential_id,
      case when p.operation = 'deploy' then
        case when a.deployment ->> 'repository' = application.repository then a.deployment
          else jsonb_build_object('source_type', 'branch', 'source_ref', application.default_branch,
            'repository', application.repository, 'provider_name', credential.provider_code)
        end || '{"type": "deploy"}' end as deployment
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
