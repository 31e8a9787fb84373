import { sql } from 'kysely'
import { isEnd, OUTDATED, SKIPPED, WAITING_FOR_PIPELINE } from '#model/actions/status.ts'
import { type PlacedServer, placeTarget } from '#model/workers/placement.ts'
import { anyId } from '#platform/database/any-of.ts'
import type { Transaction } from '#platform/database/connect.ts'
import type { ReasonCode } from '#platform/database/tables.ts'
import { gateOf } from '#platform/vocabulary.ts'
import { findOutdated, forgetFrozen, holdRun, holdRuns, releaseHeld, returnSlots } from './frozen-runs.ts'
import {
  askAtGates,
  holdAtGates,
  holdGated,
  holdLoadedGated,
  holdRestGated,
  isHeldAtGate,
  returnGated,
} from './gated-runs.ts'
import { IS_HELD, isHeld } from './held-targets.ts'
import { releaseChildren, skipActions } from './release-children.ts'
import { completeHeld, planReturns } from './resolve-held.ts'
import { needsSlot, type ScheduledAction, type ScheduledTarget } from './scheduled-action.ts'
import type { SchedulingPass } from './scheduling-pass.ts'
import { actionState, REVERTING, readyTargets, skippedTargets } from './states.ts'
import { storeWaiting } from './store-moves.ts'
import { skipLoadedSuperseded } from './superseded-runs.ts'
import { IS_OF_HOOK } from './superseded-sql.ts'

/** `worker`: the name of the only workers that may run it; null for all. */
export type TargetJob = { targetId: number; worker: string | null }
export type EnqueueTargets = (trx: Transaction, targets: TargetJob[]) => Promise<void>

/** What may have changed, and has to be checked. */
export type Affected = {
  actionIds?: readonly number[]
  pipelineIds?: readonly number[]
  serverIds?: readonly number[]
}

const QUEUED = { status: 'queued', reason: 'QUEUED' } as const
/** For an unlimited pipeline or server: how many get a slot at a time. The next pass takes more. */
const UNLIMITED_PER_PASS = 500
/** How many new actions one statement moves to waiting. */
const WAITING_AT_ONCE = 2_000

/**
 * Assigns free slots: to actions on their pipeline, then to targets on their server, as far as a worker can take
 * them. What ends frees slots and releases its children, so this repeats until nothing moves. Writes
 * everything, and enqueues the targets that may run. The cost does not depend on how many wait. Of actions that the pass has
 * loaded before, only the servers of targets that are ready or held are looked at.
 */
export async function assignSlots(
  pass: SchedulingPass,
  affected: Affected,
  enqueueTargets: EnqueueTargets,
): Promise<void> {
  const pipelines = new Set(affected.pipelineIds)
  const servers = new Set(affected.serverIds)
  for (const action of await pass.load(affected.actionIds ?? [])) {
    if (needsSlot(action)) pipelines.add(action.pipelineId)
    for (const target of action.targets) servers.add(target.serverId)
  }
  const queued: TargetJob[] = []
  do {
    await pass.flush()
    await assignPipelineSlots(pass, takeAll(pipelines))
    const slotted = pass.loaded().filter(({ hasSlot }) => hasSlot)
    const skipped = slotted.flatMap(({ targets, maxFailed }) => skippedTargets(targets, maxFailed))
    await pass.endIdle(skipped, SKIPPED)
    await completeHeld(pass)
    // Those that a gate sent back wait for it, while the others continue.
    const ready = slotted.flatMap((action) =>
      readyTargets(action.targets).filter((target) => !isHeldAtGate(action, target)),
    )
    const held = slotted.flatMap(({ targets }) => targets.filter(isHeld))
    for (const { serverId } of [...ready, ...held]) servers.add(serverId)
    const assigned = await assignServerSlots(pass, takeAll(servers), ready)
    queued.push(...assigned.queued)
    for (const { pipelineId, targets } of assigned.returned) {
      pipelines.add(pipelineId)
      for (const { serverId } of targets) servers.add(serverId)
    }
    for (const action of pass.loaded()) {
      if (!action.hasSlot) continue
      pass.moveAction(action, actionState(action.targets))
      if (isEnd(action.status)) pipelines.add(action.pipelineId)
    }
    for (const child of await releaseChildren(pass)) pipelines.add(child.pipelineId)
  } while (pipelines.size > 0)
  await pass.flush()
  if (queued.length > 0) await enqueueTargets(pass.trx, queued)
}

function takeAll(ids: Set<number>): number[] {
  const taken = [...ids]
  ids.clear()
  return taken
}

async function assignPipelineSlots(pass: SchedulingPass, pipelineIds: number[]): Promise<void> {
  if (pipelineIds.length === 0) return
  for (const action of await chooseNext(pass, pipelineIds)) pass.acquireSlot(action)
  await holdLoadedGated(pass, pipelineIds)
  for (const action of pass.loaded()) {
    if (needsSlot(action) && pipelineIds.includes(action.pipelineId))
      pass.moveAction(action, WAITING_FOR_PIPELINE)
  }
  await moveRestToWaiting(pass, pipelineIds)
}

/** The next runs for which slots are free and that no gate holds. Runs that a freeze held come before newer ones. */
async function chooseNext(pass: SchedulingPass, pipelineIds: number[]): Promise<ScheduledAction[]> {
  const next = await nextPassed(pass, pipelineIds)
  if (pass.freezes().length > 0) {
    if (next.length > 0) {
      await holdRestGated(pass, pipelineIds)
      await holdRuns(pass, pipelineIds)
    }
  } else if (pass.holdsRuns()) await releaseRuns(pass, pipelineIds, UNLIMITED_PER_PASS)
  else return next
  return nextPassed(pass, pipelineIds)
}

/**
 * Each deployment makes workers compare the approved runs behind it again. Those further back wait for their turn: looking at
 * all of them would keep the environment's lock for as long as there are any.
 */
const ROUNDS = 10

async function nextPassed(pass: SchedulingPass, pipelineIds: number[]): Promise<ScheduledAction[]> {
  for (let round = 0; round < ROUNDS; round++) {
    const next = await pass.load(await nextActions(pass.trx, pipelineIds))
    if (!(await holdGated(pass, next))) return next
  }
  return []
}

/**
 * Runs that a freeze held wait for a slot again, oldest first, at most so many of each pipeline; call it only while none is in
 * force. Returns the pipelines that have to be looked at.
 */
export async function releaseRuns(
  pass: SchedulingPass,
  of: readonly number[] | 'all',
  perPipeline: number,
): Promise<number[]> {
  const { outdated, pipelineIds } = await releaseHeld(pass, of, perPipeline)
  await skipActions(pass, await pass.load(outdated), OUTDATED)
  await pass.flush()
  await forgetFrozen(pass)
  return pipelineIds
}

/** Of a run at a gate that was opened: it waits for a slot, unless another gate holds it, or it is too late for it. */
export async function leaveGate(pass: SchedulingPass, action: ScheduledAction): Promise<void> {
  const gate = gateOf(action.reason)
  const closed = pass.closedGate(action)
  if (gate === null || closed === gate) return
  // Checks or approval may be required since, while another gate held it.
  if (closed === 'checks' || closed === 'approval') return holdAtGates(pass, [action])
  if (closed === 'freeze') return holdRun(pass, action)
  const outdated = await findOutdated(pass.trx, [action.pipelineId], [action.id])
  if (outdated.length > 0) await skipActions(pass, [action], OUTDATED)
  else pass.moveAction(action, WAITING_FOR_PIPELINE)
}

/** New actions that come after those with a slot. */
async function moveRestToWaiting({ trx, at, loaded }: SchedulingPass, pipelineIds: number[]): Promise<void> {
  const rest = { pipelineIds, except: loaded().map(({ id }) => id), limit: WAITING_AT_ONCE }
  for (let count = WAITING_AT_ONCE; count === WAITING_AT_ONCE; ) {
    const stored = await storeWaiting(trx, at, rest)
    await askAtGates(trx, stored.gated)
    count = stored.count
  }
}

/** The actions that come next on each of these pipelines, first come first served, while slots are free. */
async function nextActions(trx: Transaction, pipelineIds: number[]): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    select next.id
    from pipelines p
    cross join lateral (
      select case p.max_parallel_actions when 0 then ${UNLIMITED_PER_PASS}
        else p.max_parallel_actions - (select count(*) from actions where pipeline_id = p.id and has_place) end as free
    ) as slots
    left join superseded_pipelines superseded on superseded.pipeline_id = p.id
    cross join lateral (
      select id from actions a
      where pipeline_id = p.id and status in ('queued', 'waiting') and not has_place and gate is null
        and (superseded.newest is null or id >= superseded.newest or not ${IS_OF_HOOK})
      order by id limit greatest(free, 0)
    ) as next
    where p.id = ${anyId(pipelineIds)}`.execute(trx)
  return rows.map((row) => row.id)
}

/** Returns the targets that have a slot now; the others of `ready` wait. The actions that a gate holds by now return theirs. */
async function assignServerSlots(
  pass: SchedulingPass,
  serverIds: number[],
  ready: ScheduledTarget[],
): Promise<{ queued: TargetJob[]; returned: ScheduledAction[] }> {
  if (serverIds.length === 0) return { queued: [], returned: [] }
  const servers = await serverSlots(pass.trx, serverIds)
  const waiting = servers.flatMap((server) => server.waiting)
  const heldIds = servers.flatMap((server) => server.held)
  const actions = await pass.load([...waiting.map(({ actionId }) => actionId), ...heldIds])
  const gated = [...(await returnSlots(pass)), ...returnGated(pass), ...(await skipLoadedSuperseded(pass))]
  const gatedIds = new Set(gated.map(({ id }) => id))
  const back = await planReturns(pass)
  const waitingIds = new Set(waiting.map(({ targetId }) => targetId))
  const candidates = [
    ...ready,
    ...back.keys(),
    ...actions.flatMap((action) => action.targets.filter((target) => waitingIds.has(target.id))),
  ]
    .filter(({ actionId }) => !gatedIds.has(actionId))
    .sort((a, b) => a.actionId - b.actionId)
  const workers = servers.some((server) => server.isLocal) ? await pass.workers() : []
  const places = new Map(servers.map((server) => [server.id, placeTarget(server, workers)]))
  const free = new Map(servers.map((server) => [server.id, server.free]))
  const queued: TargetJob[] = []
  for (const target of candidates) {
    const place = places.get(target.serverId)
    const left = free.get(target.serverId) ?? 0
    const steps = back.get(target)
    // It stays held until there is a slot, and a worker.
    if (steps && (place?.kind === 'none' || left <= 0)) continue
    if (place?.kind === 'none') {
      wait(pass, target, 'WAITING_WORKER')
      continue
    }
    free.set(target.serverId, left - 1)
    if (left > 0) {
      if (steps) await pass.endTarget(target, REVERTING, steps)
      else pass.moveTarget(target, QUEUED)
      queued.push({ targetId: target.id, worker: place?.kind === 'worker' ? place.name : null })
    } else {
      wait(pass, target, 'WAITING_CONCURRENCY_TARGET')
    }
  }
  return { queued, returned: gated.filter(({ hasSlot }) => !hasSlot) }
}

function wait(pass: SchedulingPass, target: ScheduledTarget, reason: ReasonCode): void {
  if (target.reason !== reason) pass.moveTarget(target, { status: 'waiting', reason })
}

type ServerSlots = PlacedServer & {
  id: number
  free: number
  waiting: { targetId: number; actionId: number }[]
  /** Actions whose target on this server is done, and may have to go back. */
  held: number[]
}

/** How many slots these servers have free, and which targets wait for them, or for a worker. */
async function serverSlots(trx: Transaction, serverIds: number[]): Promise<ServerSlots[]> {
  const { rows } = await sql<ServerSlots>`
    select s.id, slots.free, s.provider_code = 'local' as "isLocal", s.worker_name as "workerName", coalesce((
      select json_agg(json_build_object('targetId', next.id, 'actionId', next.action_id))
      from (
        (select id, action_id from targets where server_id = s.id and status = 'waiting' and gate is null
          order by action_id limit slots.free)
        union
        (select id, action_id from targets where server_id = s.id and status_reason_code = 'WAITING_WORKER'
          order by action_id limit ${UNLIMITED_PER_PASS})
      ) as next), '[]') as waiting,
      array(select distinct action_id from targets where server_id = s.id and ${IS_HELD}) as held
    from servers s
    cross join lateral (
      select greatest(0, case s.max_parallel_actions when 0 then ${UNLIMITED_PER_PASS} else s.max_parallel_actions -
        (select count(*) from targets
          where server_id = s.id and status in ('queued', 'in-progress') and not ${IS_HELD}) end) as free
    ) as slots
    where s.id = ${anyId(serverIds)}`.execute(trx)
  return rows
}
