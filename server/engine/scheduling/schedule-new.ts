import { sql } from 'kysely'
import { anyId } from '#platform/database/any-of.ts'
import type { Database, Transaction } from '#platform/database/connect.ts'
import { shareLoads } from '#platform/database/share-loads.ts'
import { type Affected, assignSlots, type EnqueueTargets } from './assign-slots.ts'
import { requestMissingChecks } from './check-requests.ts'
import { type OnMoves, reportMoves } from './committed-moves.ts'
import { openSchedulingPass } from './scheduling-pass.ts'
import { askEarly } from './verify-approval.ts'

/** A pass that has not begun: what comes until then is part of it. `done` tells whether it has left new actions. */
type NextPass = { pipelineIds: Set<number>; done: Promise<boolean> }

/**
 * Schedules actions that were started: the job `actions.run`. A process makes one pass at a time per environment, and
 * whatever comes meanwhile shares the next one, so that many calls cost few passes, and none holds a connection to wait
 * for the lock of another. A pass takes a limited number of new actions of an unlimited pipeline: a job ends when its own
 * are scheduled, and does not wait for those that come later.
 */
export function createScheduler(db: Database, enqueueTargets: EnqueueTargets, onMoves?: OnMoves) {
  const next = new Map<number, NextPass>()
  const last = new Map<number, Promise<unknown>>()

  function nextPass(environmentId: number): NextPass {
    const known = next.get(environmentId)
    if (known) return known
    const pipelineIds = new Set<number>()
    const done = (last.get(environmentId) ?? Promise.resolve()).then(async () => {
      next.delete(environmentId)
      const affected = { pipelineIds: [...pipelineIds] }
      await scheduleEnvironment(db, environmentId, affected, enqueueTargets, onMoves)
      return hasQueued(db, affected.pipelineIds)
    })
    const over = Promise.allSettled([done])
    last.set(environmentId, over)
    void over.then(() => last.get(environmentId) === over && last.delete(environmentId))
    const pass = { pipelineIds, done }
    next.set(environmentId, pass)
    return pass
  }

  const findUnplaced = shareLoads((ids) => loadUnplaced(db, ids))

  return async (actionIds: readonly number[]): Promise<void> => {
    const find = async () => {
      const found = await Promise.all(actionIds.map((id) => findUnplaced(String(id))))
      return found.filter((one) => one !== undefined)
    }
    let unplaced = await find()
    // Calls insert runs that wait for checks or approval at the gate.
    if (unplaced.length < actionIds.length) await requestMissing(db, actionIds)
    for (;;) {
      const passes = unplaced.map(({ environmentId, pipelineId }) => {
        const pass = nextPass(environmentId)
        pass.pipelineIds.add(pipelineId)
        return pass.done
      })
      const hasLeft = await Promise.all(new Set(passes))
      if (!hasLeft.includes(true)) return
      unplaced = (await find()).filter(({ isNew }) => isNew)
    }
  }
}

/** Of those at a gate that nothing was done about yet: a worker finds out what they ship. */
export async function requestMissing(db: Database, actionIds: readonly number[] | 'missing'): Promise<void> {
  await requestMissingChecks(db, actionIds)
  await requestApprovals(db, actionIds)
  // Approval may be required since they began to wait for their checks.
  if (actionIds === 'missing') await askEarly(db, sql`a.${LONG_UNCHANGED}`)
}

const LONG_UNCHANGED = sql`updated_at < now() - interval '20 seconds'`

async function requestApprovals(db: Database, actionIds: readonly number[] | 'missing'): Promise<void> {
  const which = actionIds === 'missing' ? LONG_UNCHANGED : sql`id = ${anyId(actionIds)}`
  await sql`
    insert into approval_requests (action_id, environment_id, pipeline_id)
    select id, environment_id, pipeline_id from actions a where gate = 'approval' and ${which}
      and not exists (select from approval_requests r where r.action_id = a.id)
    order by id on conflict (action_id) do nothing`.execute(db)
}

type Unplaced = { id: number; environmentId: number; pipelineId: number; isNew: boolean }

/** Where these actions need a slot; those that have one, or have ended, were scheduled by an earlier attempt. */
async function loadUnplaced(db: Database, ids: string[]): Promise<Map<string, Unplaced>> {
  const { rows } = await sql<Unplaced>`
    select id, environment_id as "environmentId", pipeline_id as "pipelineId", status = 'queued' as "isNew" from actions
    where id = ${anyId(ids.map(Number))} and status in ('queued', 'waiting') and not has_place
      and gate is null`.execute(db)
  return new Map(rows.map((row) => [String(row.id), row]))
}

/**
 * Of unlimited pipelines: the new actions of the others wait. The next one in the order that only the index of runs without a
 * slot provides, whatever the planner knows: others hold every run that is queued.
 */
async function hasQueued(db: Database, pipelineIds: readonly number[]): Promise<boolean> {
  const { rows } = await sql`
    select from pipelines p cross join lateral (
      select a.pipeline_id from actions a
      where (a.pipeline_id, a.id) > (p.id, 0) and a.status in ('queued', 'waiting') and not a.has_place
        and a.gate is null
      order by a.pipeline_id, a.id limit 1
    ) as next
    where p.id = ${anyId(pipelineIds)} and p.max_parallel_actions = 0 and next.pipeline_id = p.id`.execute(db)
  return rows.length > 0
}

export function scheduleEnvironment(
  db: Database,
  environmentId: number,
  affected: Affected,
  enqueueTargets: EnqueueTargets,
  onMoves?: OnMoves,
): Promise<void> {
  const assign = async (trx: Transaction) =>
    assignSlots(await openSchedulingPass(trx, environmentId), affected, enqueueTargets)
  return reportMoves(db, onMoves, assign, environmentId)
}
