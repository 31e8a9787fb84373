import { sql } from 'kysely'
import { PIPELINE_NEEDS_APPROVAL } from '#model/gates/approval-sql.ts'
import { PIPELINE_NEEDS_CHECKS } from '#model/gates/checks-sql.ts'
import type { Database } from '#platform/database/connect.ts'
import type { StoredStep } from '#platform/database/tables.ts'

/** A pipeline as it is now: what a run of it would do. */
export type PipelineDefinition = {
  id: number
  environmentId: number
  operation: string
  isArchived: boolean
  queuePolicy: 'queue' | 'latest' | 'reject'
  maxParallelActions: number
  /** Its runs wait for the checks of their commit. */
  needsChecks: boolean
  /** Its runs wait for approval before they are queued. */
  needsApproval: boolean
  /** Other pipelines run after this one. */
  hasDependents: boolean
  rollout: { batch: number | string; max_failed: number } | null
  servers: readonly { id: number; name: string }[]
  steps: readonly { id: number; name: string; description: string | null }[]
}

/** Existing pipelines with everything that a plan needs, in one statement for any number of them. */
export async function loadDefinitions(
  db: Database,
  ids: readonly number[],
): Promise<Map<number, PipelineDefinition>> {
  const { rows } = await sql<PipelineDefinition>`
    select p.id, p.environment_id as "environmentId", p.operation, e.archived_at is not null as "isArchived",
      p.queue_policy as "queuePolicy", p.max_parallel_actions as "maxParallelActions", p.rollout,
      ${PIPELINE_NEEDS_CHECKS} as "needsChecks", ${PIPELINE_NEEDS_APPROVAL} as "needsApproval",
      exists (select from pipeline_run_after after where after.after_pipeline_id = p.id) as "hasDependents",
      coalesce((
        select json_agg(json_build_object('id', s.id, 'name', s.name) order by s.id) from servers s
        where s.id = p.server_id
          or s.id in (select link.server_id from application_servers link where link.application_id = p.application_id)
      ), '[]') as servers,
      coalesce((
        select json_agg(json_build_object('id', step.id, 'name', step.name, 'description', step.description) order by step.position)
        from pipeline_steps step where step.pipeline_id = p.id and step.removed_at is null
      ), '[]') as steps
    from pipelines p join environments e on e.id = p.environment_id
    where p.id = any(${ids}::bigint[]) and p.deleted_at is null`.execute(db)
  return new Map(rows.map((row) => [row.id, row]))
}

export type PlannedTarget = { position: number; batch: number; serverId: number; serverName: string }

export type Plan =
  | { kind: 'plan'; targets: PlannedTarget[]; steps: StoredStep[] }
  | { kind: 'impossible'; reason: string }

/** Targets × steps of a run, or why it cannot run. Pure. */
export function planRun(pipeline: PipelineDefinition): Plan {
  if (pipeline.isArchived)
    return { kind: 'impossible', reason: 'The environment of the pipeline is archived.' }
  if (pipeline.servers.length === 0)
    return { kind: 'impossible', reason: 'The pipeline has no servers to run on.' }
  if (pipeline.steps.length === 0) return { kind: 'impossible', reason: 'The pipeline has no steps.' }
  const perBatch = batchSize(pipeline.rollout?.batch, pipeline.servers.length)
  return {
    kind: 'plan',
    targets: pipeline.servers.map((server, index) => ({
      position: index + 1,
      batch: Math.floor(index / perBatch) + 1,
      serverId: server.id,
      serverName: server.name,
    })),
    steps: pipeline.steps.map((step, index) => ({
      order: index + 1,
      step_id: step.id,
      name: step.name,
      description: step.description,
      status: 'pending',
      reason: 'PENDING',
      started_at: null,
      completed_at: null,
    })),
  }
}

/** `3` servers at a time, or `"25%"` of them; at least one, at most all. */
function batchSize(batch: number | string | undefined, servers: number): number {
  if (batch === undefined) return servers
  const wanted = typeof batch === 'string' ? Math.ceil((servers * Number.parseFloat(batch)) / 100) : batch
  return Math.min(Math.max(1, wanted), servers)
}

/** A plan as rows, with a number by which starts refer to it (actions/start-actions.ts). */
export function planRows({ targets, steps }: Extract<Plan, { kind: 'plan' }>, number: number) {
  return targets.map(({ position, batch, serverId }) => ({
    plan: number,
    position,
    batch,
    server_id: serverId,
    steps,
  }))
}
