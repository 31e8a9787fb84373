import type { StoredStep } from '#platform/database/tables.ts'

/** A pipeline as it is at one moment: what a run of it would do. */
export type PipelineDefinition = {
  id: number
  environmentId: number
  operation: string
  isArchived: boolean
  queuePolicy: 'queue' | 'latest' | 'reject'
  maxParallelActions: number
  /** Other pipelines run after this one. */
  hasDependents: boolean
  rollout: { batch: number | string; max_failed: number } | null
  servers: readonly { id: number; name: string }[]
  steps: readonly PipelineStepDefinition[]
}

export type PipelineStepDefinition = { id: number; name: string; description: string | null }

export type PlannedTarget = { position: number; batch: number; serverId: number; serverName: string }

export type Plan =
  | { kind: 'plan'; targets: PlannedTarget[]; steps: StoredStep[] }
  | { kind: 'impossible'; reason: string }

/** Targets × steps of a run, or why there can be none. Pure. */
export function planRun(pipeline: PipelineDefinition): Plan {
  if (pipeline.isArchived)
    return { kind: 'impossible', reason: 'The environment of the pipeline is archived.' }
  if (pipeline.servers.length === 0)
    return { kind: 'impossible', reason: 'The pipeline has no server to run on.' }
  if (pipeline.steps.length === 0) return { kind: 'impossible', reason: 'The pipeline has no step to run.' }
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

/** A plan as rows, under a number by which starts refer to it (actions/start-actions.ts). */
export function planRows({ targets, steps }: Extract<Plan, { kind: 'plan' }>, number: number) {
  return targets.map(({ position, batch, serverId }) => ({
    plan: number,
    position,
    batch,
    server_id: serverId,
    steps,
  }))
}
