import type { Selectable } from 'kysely'
import type { PipelineRecord, ServerData } from '#model/inventory/load-resources.ts'
import type { ActionsTable, ReasonCode, Status, StoredStep, TargetsTable } from '#platform/database/tables.ts'
import { OPERATIONS, type Operation, RESOURCE_TYPES, reasonName, STATUSES } from '#platform/vocabulary.ts'
import type { ActionSummary, Step, Target, TargetSummary } from './summary-schemas.ts'

// Rows → what the API returns. Pure.

export type ActionRow = Selectable<ActionsTable>
export type TargetRow = Selectable<TargetsTable>

/** Steps are stored in their target's row; their ids derive from its id and never change. */
export function stepId(targetId: number, order: number): number {
  return targetId * 1000 + order
}

export function presentAction(row: ActionRow, targets: Target[], baseUrl: string): ActionSummary {
  return {
    id: row.id,
    ...presentStatus(row.status, row.status_reason_code),
    ...presentType(row.type),
    url_web_permalink: permalink(baseUrl, row.id),
    action_data: {
      release_name: row.release_name,
      commit: row.commit,
      deployment: row.deployment && { ...row.deployment, pipeline_id: row.pipeline_id },
    },
    triggered_from: {
      origin: row.origin,
      trigger_type: row.trigger_type,
      name: row.trigger_name,
      email: row.trigger_email,
      ip_address: row.ip_address,
      user_id: row.triggered_by,
      hook_id: row.hook_id,
      hook_request_id: row.hook_request_id,
      hook_parsed_variables: row.hook_parsed_variables,
    },
    summary: { targets: summarizeTargets(targets) },
    targets: targets,
    started_at: row.started_at,
    completed_at: row.completed_at,
    created_at: row.created_at,
    updated_at: row.updated_at,
  }
}

export function presentTarget(row: TargetRow, server: ServerData): Target {
  const steps = row.steps.map((step) => presentStep(row, step))
  return {
    id: row.id,
    resource_type: 'server',
    resource_type_human_readable: RESOURCE_TYPES.server,
    resource_id: row.server_id,
    ...presentStatus(row.status, row.status_reason_code),
    total_steps: steps.length,
    current_step: currentStep(steps),
    steps,
    resource_data: server,
    started_at: row.started_at,
    completed_at: row.completed_at,
    created_at: row.created_at,
    updated_at: row.updated_at,
  }
}

function presentStep(target: TargetRow, step: StoredStep): Step {
  return {
    id: stepId(target.id, step.order),
    action_id: target.action_id,
    action_target_id: target.id,
    name: step.name,
    description: step.description,
    order: step.order,
    ...presentStatus(step.status, step.reason),
    started_at: step.started_at,
    completed_at: step.completed_at,
    created_at: target.created_at,
    updated_at: step.updated_at ?? target.created_at,
  }
}

/** The running step, else the last one that ran, else null. */
function currentStep(steps: readonly Step[]): Step | null {
  return (
    steps.find((step) => step.status === 'in-progress') ??
    steps.findLast((step) => step.started_at !== null) ??
    null
  )
}

export function summarizeTargets(targets: readonly { status: Status }[]): TargetSummary {
  const count = (...statuses: Status[]) => targets.filter((target) => statuses.includes(target.status)).length
  return {
    count: targets.length,
    pending: count('pending', 'waiting', 'queued'),
    in_progress: count('in-progress'),
    completed: count('completed'),
    failed: count('failed'),
  }
}

export function presentStatus(status: Status, reason: ReasonCode) {
  return {
    status,
    status_human_readable: STATUSES[status],
    status_reason_code: reason,
    status_reason_human_readable: reasonName(reason),
  }
}

export function presentType(type: string) {
  return { type: type as Operation, type_human_readable: OPERATIONS[type as Operation] }
}

/** The resource of a pipeline, where only its name is shown. */
export function presentResource({ application, server, resource_type }: PipelineRecord) {
  return {
    resource_name: (application?.data.name ?? server?.name)!,
    resource_type,
    resource_type_human_readable: RESOURCE_TYPES[resource_type],
  }
}

export function permalink(baseUrl: string, actionId: number): string {
  return `${baseUrl}/app/actions/${actionId}`
}
