import { sql } from 'kysely'
import { type Overrider, prepareOverrides } from '#engine/gates/override.ts'
import { planGates } from '#engine/gates/read-gates.ts'
import { IS_HELD } from '#engine/scheduling/held-targets.ts'
import { loadServers } from '#model/inventory/load-resources.ts'
import { type PipelineDefinition, type PlannedTarget, planRun } from '#model/pipelines/plan.ts'
import { acquireSlots } from '#model/pipelines/queue-policy.ts'
import { loadSteps, presentSteps } from '#model/pipelines/steps.ts'
import { readLiveWorkers } from '#model/workers/live-workers.ts'
import { type PlacedServer, placeTarget } from '#model/workers/placement.ts'
import type { Database } from '#platform/database/connect.ts'
import type { Commit, ReasonCode } from '#platform/database/tables.ts'
import { conflict, type HttpProblem } from '#platform/http/problems.ts'
import { reasonName } from '#platform/vocabulary.ts'
import type { PlannedDeploy } from './plan-changes.ts'
import type { DeploySource, Rollback } from './resolve-source.ts'
import type { RunInput, RunPlan } from './schemas.ts'
import { BUSY, type ResolvedRun, resolveRun } from './start-run.ts'

type PlanOutcome =
  /** `deploy`: null for other operations. */
  { kind: 'planned'; plan: RunPlan; deploy: PlannedDeploy | null } | HttpProblem

/** What a run would do now, with the same checks. Starts nothing, and locks nothing. */
export function planPipeline(
  db: Database,
  pipelineId: number,
  input: RunInput,
  viewer: { seesActions: boolean; overrider: Overrider },
): Promise<PlanOutcome> {
  return db.transaction().execute(async (trx): Promise<PlanOutcome> => {
    const resolved = await resolveRun(trx, pipelineId, input, viewer)
    if (resolved.kind !== 'resolved') return resolved
    const { definition } = resolved.pipeline
    const plan = planRun(definition)
    if (plan.kind === 'impossible') return conflict(plan.reason)
    const [hasSlot] = await acquireSlots(trx, [definition])
    if (!hasSlot) return conflict(BUSY)
    const overridden = await prepareOverrides(trx, input.override ?? [], viewer.overrider)
    if (overridden.kind !== 'allowed') return overridden
    const isRollback = resolved.source.deployment?.type === 'rollback'
    // Rollbacks that need approval are found once they are started: what they run is compared then.
    const needsApproval = definition.needsApproval && !isRollback
    const needsChecks = definition.needsChecks && !isRollback
    const overrides = (input.override ?? []).map(({ gate }) => gate)
    const run = { isRollback, needsChecks, needsApproval, overrides }
    const gates = await planGates(trx, definition.environmentId, run)
    const first = gates.find(({ state }) => state === 'closed')
    const reason = first ? WAITING_AT[first.gate] : await findWaitingReason(trx, definition, plan.targets)
    const targets = await describeTargets(trx, pipelineId, plan.targets)
    return {
      kind: 'planned',
      deploy: deployOf(resolved, targets),
      plan: {
        targets,
        comparisons: null,
        source: describeSource(resolved.source),
        rollback: describeRollback(resolved.rollback, viewer),
        gates,
        would_wait: reason,
        would_wait_human_readable: reason && reasonName(reason),
        variables: input.variables ?? {},
      },
    }
  })
}

const WAITING_AT = {
  checks: 'WAITING_CHECKS',
  approval: 'WAITING_APPROVAL',
  freeze: 'WAITING_FREEZE',
} as const

function deployOf(
  { pipeline: { application, credentialId }, source: { deployment, commit } }: ResolvedRun,
  targets: RunPlan['targets'],
): PlannedDeploy | null {
  if (!application || !deployment) return null
  const servers = targets.map(({ resource_id: id, resource_data: { name } }) => ({ id, name }))
  return { application, credentialId, deployment, commitSha: commit?.hash ?? null, servers }
}

async function describeTargets(
  db: Database,
  pipelineId: number,
  targets: readonly PlannedTarget[],
): Promise<RunPlan['targets']> {
  const ids = targets.map(({ serverId }) => serverId)
  const servers = new Map((await loadServers(db, ids)).map((server) => [server.id, server]))
  const rows = await loadSteps(db, [pipelineId])
  const steps = presentSteps(rows).map(({ id, created_at, updated_at, ...step }) => step)
  return targets.map(({ serverId, batch }) => ({
    resource_type: 'server',
    resource_id: serverId,
    resource_data: servers.get(serverId)!,
    batch,
    steps,
  }))
}

function describeSource({ deployment, commit, release_name }: DeploySource): RunPlan['source'] {
  if (!deployment) return null
  const { provider_name, ...source } = deployment
  return { ...source, commit_hash: commit?.hash ?? null, release_name }
}

function describeRollback(
  rollback: Rollback | null,
  { seesActions }: { seesActions: boolean },
): RunPlan['rollback'] {
  if (!rollback) return null
  const { from, to } = rollback
  const show = (releaseName: string, commit: Commit | null, actionId: number) => ({
    release_name: releaseName,
    commit_hash: commit?.hash ?? null,
    commit_message: seesActions ? (commit?.message ?? null) : null,
    action_id: seesActions ? actionId : null,
  })
  return {
    from: from && show(from.releaseName, from.commit, from.actionIds[0]!),
    to: show(to.releaseName, to.commit, to.actionId),
  }
}

/**
 * First come, first served: a run waits while earlier ones use up the limit, or wait for it; and while no worker can take
 * its targets.
 */
async function findWaitingReason(
  db: Database,
  { id, maxParallelActions }: PipelineDefinition,
  targets: readonly PlannedTarget[],
): Promise<ReasonCode | null> {
  const first = targets.flatMap(({ serverId, batch }) => (batch === 1 ? [serverId] : []))
  const { rows } = await sql<{ pipeline: boolean; server: boolean }>`
    select ${maxParallelActions}::int > 0 and ${maxParallelActions}::int <= (
        select count(*) from actions where pipeline_id = ${id} and status in ('waiting', 'queued', 'in-progress')
          and gate is null
      ) as pipeline,
      exists (
        select from servers s
        where s.id = any(${first}::bigint[]) and s.max_parallel_actions > 0 and s.max_parallel_actions <= (
          select count(*) from targets
          where server_id = s.id and status in ('waiting', 'queued', 'in-progress') and gate is null and not ${IS_HELD})
      ) as server`.execute(db)
  const { pipeline, server } = rows[0]!
  if (pipeline) return 'WAITING_CONCURRENCY_PIPELINE'
  if (await lacksWorker(db, first)) return 'WAITING_WORKER'
  return server ? 'WAITING_CONCURRENCY_TARGET' : null
}

/** Whether one of these servers is the machine of a worker that is not online, or drains. */
async function lacksWorker(db: Database, serverIds: readonly number[]): Promise<boolean> {
  const { rows } = await sql<Pick<PlacedServer, 'workerName'>>`
    select worker_name as "workerName" from servers
    where id = any(${serverIds}::bigint[]) and provider_code = 'local'`.execute(db)
  if (rows.length === 0) return false
  const workers = await readLiveWorkers(db)
  return rows.some((server) => placeTarget({ ...server, isLocal: true }, workers).kind === 'none')
}
