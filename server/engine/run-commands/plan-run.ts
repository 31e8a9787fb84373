import { sql } from 'kysely'
import { loadServers } from '#model/inventory/load-resources.ts'
import { loadSteps } from '#model/pipelines/load-steps.ts'
import { type PipelineDefinition, type PlannedTarget, planRun } from '#model/pipelines/plan.ts'
import { acquireSlots } from '#model/pipelines/queue-policy.ts'
import type { Database } from '#platform/database/connect.ts'
import type { ReasonCode } from '#platform/database/tables.ts'
import { REASONS } from '#platform/vocabulary.ts'
import { settleWish, type Unsettled } from './run-pipeline.ts'
import type { RunInput, RunPlan } from './schemas.ts'
import { BUSY, impossible, type Taken } from './start-run.ts'

export type PlanOutcome = { kind: 'planned'; plan: RunPlan } | Unsettled

/** What a run would do at this moment, refused for the same reasons. Starts nothing, and locks nothing. */
export function planWish(db: Database, pipelineId: number, wish: RunInput): Promise<PlanOutcome> {
  return db.transaction().execute(async (trx): Promise<PlanOutcome> => {
    const settled = await settleWish(trx, pipelineId, wish)
    if (settled.kind !== 'settled') return settled
    const { definition } = settled.pipeline
    const plan = planRun(definition)
    if (plan.kind === 'impossible') return plan
    const [hasPlace] = await acquireSlots(trx, [definition])
    if (!hasPlace) return impossible(BUSY)
    const reason = await findWaitingReason(trx, definition, plan.targets)
    return {
      kind: 'planned',
      plan: {
        targets: await describeTargets(trx, pipelineId, plan.targets),
        source: describeSource(settled.taken),
        would_wait: reason,
        would_wait_human_readable: reason && REASONS[reason],
        variables: wish.variables ?? {},
      },
    }
  })
}

async function describeTargets(
  db: Database,
  pipelineId: number,
  targets: readonly PlannedTarget[],
): Promise<RunPlan['targets']> {
  const ids = targets.map(({ serverId }) => serverId)
  const servers = new Map((await loadServers(db, ids)).map((server) => [server.id, server]))
  const steps = (await loadSteps(db, [pipelineId])).map((step, index) => ({
    order: index + 1,
    name: step.name,
    description: step.description,
    built_in: step.built_in,
    command: step.command,
    run_as_user: step.run_as_user,
    timeout_seconds: step.timeout_seconds,
    idempotent: step.idempotent,
  }))
  return targets.map(({ serverId, batch }) => ({
    resource_type: 'server',
    resource_id: serverId,
    resource_data: servers.get(serverId)!,
    batch,
    steps,
  }))
}

function describeSource({ deployment, commit, release_name }: Taken): RunPlan['source'] {
  if (!deployment) return null
  const { type, source_type, source_ref, repository } = deployment
  return { type, source_type, source_ref, repository, commit_hash: commit?.hash ?? null, release_name }
}

/** Whoever was there before goes first: a run waits as long as others use up the limit, or wait for it. */
async function findWaitingReason(
  db: Database,
  { id, maxParallelActions }: PipelineDefinition,
  targets: readonly PlannedTarget[],
): Promise<ReasonCode | null> {
  const first = targets.flatMap(({ serverId, batch }) => (batch === 1 ? [serverId] : []))
  const { rows } = await sql<{ pipeline: boolean; server: boolean }>`
    select ${maxParallelActions}::int > 0 and ${maxParallelActions}::int <= (
        select count(*) from actions where pipeline_id = ${id} and status in ('waiting', 'queued', 'in-progress')
      ) as pipeline,
      exists (
        select from servers s
        where s.id = any(${first}::bigint[]) and s.max_parallel_actions > 0 and s.max_parallel_actions <= (
          select count(*) from targets t where t.server_id = s.id and t.status in ('waiting', 'queued', 'in-progress'))
      ) as server`.execute(db)
  const { pipeline, server } = rows[0]!
  if (pipeline) return 'WAITING_CONCURRENCY_PIPELINE'
  return server ? 'WAITING_CONCURRENCY_TARGET' : null
}
