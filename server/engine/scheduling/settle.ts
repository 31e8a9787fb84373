import { sql, type Transaction } from 'kysely'
import { isEnd, SKIPPED } from '#model/actions/status.ts'
import type { Tables } from '#platform/database/tables.ts'
import { actionState, endSteps, leftOutTargets, openTargets } from './derive.ts'
import type { LiveAction, LiveTarget } from './live-action.ts'
import { nextActions, serverRooms } from './places.ts'
import type { SchedulingPass } from './scheduling-pass.ts'

export type EnqueueTargets = (trx: Transaction<Tables>, targetIds: number[]) => Promise<void>

/** What may have changed: these have to be looked at. */
export type Touched = { actionIds?: number[]; pipelineIds?: number[]; serverIds?: number[] }

const QUEUED = { status: 'queued', reason: 'QUEUED' } as const

/**
 * Lets everything take the place that is free for it: actions on their pipeline, then targets on their
 * server. What ends makes room and lets its children go, so this goes on until nothing moves any more.
 */
export async function settleRound(
  round: SchedulingPass,
  touched: Touched,
  enqueueTargets: EnqueueTargets,
): Promise<void> {
  const pipelines = new Set(touched.pipelineIds)
  const servers = new Set(touched.serverIds)
  for (const action of await round.load(touched.actionIds ?? [])) {
    if (isWithoutPlace(action)) pipelines.add(action.pipelineId)
    for (const target of action.targets) servers.add(target.serverId)
  }
  const queued: number[] = []
  do {
    await round.flush()
    await givePlaces(round, takeAll(pipelines))
    const wanting = round.loaded().flatMap((action) => openBatch(round, action))
    for (const { serverId } of wanting) servers.add(serverId)
    queued.push(...(await giveServers(round, takeAll(servers), wanting)))
    for (const action of round.loaded()) {
      if (!action.hasPlace) continue
      round.moveAction(action, actionState(action.targets))
      if (isEnd(action.status)) pipelines.add(action.pipelineId)
    }
    for (const child of await releaseChildren(round)) pipelines.add(child.pipelineId)
  } while (pipelines.size > 0)
  await round.flush()
  if (queued.length > 0) await enqueueTargets(round.trx, queued)
}

function isWithoutPlace(action: LiveAction): boolean {
  return !action.hasPlace && (action.status === 'queued' || action.status === 'waiting')
}

function takeAll(ids: Set<number>): number[] {
  const taken = [...ids]
  ids.clear()
  return taken
}

async function givePlaces(round: SchedulingPass, pipelineIds: number[]): Promise<void> {
  if (pipelineIds.length === 0) return
  for (const action of await round.load(await nextActions(round.trx, pipelineIds))) round.givePlace(action)
  for (const action of round.loaded()) {
    if (isWithoutPlace(action) && pipelineIds.includes(action.pipelineId))
      round.moveAction(action, { status: 'waiting', reason: 'WAITING_CONCURRENCY_PIPELINE' })
  }
}

/** The targets that now want a place on their server. */
function openBatch(round: SchedulingPass, action: LiveAction): LiveTarget[] {
  if (!action.hasPlace) return []
  for (const target of leftOutTargets(action.targets, action.maxFailed)) skipTarget(round, target)
  return openTargets(action.targets)
}

/** Ends an action that has not begun, without a run. */
export function skipAction(round: SchedulingPass, action: LiveAction): void {
  for (const target of action.targets) skipTarget(round, target)
  round.moveAction(action, SKIPPED)
}

function skipTarget(round: SchedulingPass, target: LiveTarget): void {
  round.moveTarget(target, SKIPPED, endSteps(target.steps, SKIPPED, round.at))
}

/** Returns the targets that have a place now; the others of `wanting` wait. */
async function giveServers(
  round: SchedulingPass,
  serverIds: number[],
  wanting: LiveTarget[],
): Promise<number[]> {
  if (serverIds.length === 0) return []
  const rooms = await serverRooms(round.trx, serverIds)
  const waiting = rooms.flatMap((room) => room.waiting)
  const actions = await round.load(waiting.map(({ actionId }) => actionId))
  const waitingIds = new Set(waiting.map(({ targetId }) => targetId))
  const candidates = [
    ...wanting,
    ...actions.flatMap((action) => action.targets.filter((target) => waitingIds.has(target.id))),
  ].sort((one, other) => one.actionId - other.actionId)
  const free = new Map(rooms.map((room) => [room.id, room.free]))
  const queued: number[] = []
  for (const target of candidates) {
    const left = free.get(target.serverId) ?? 0
    free.set(target.serverId, left - 1)
    if (left > 0) {
      round.moveTarget(target, QUEUED)
      queued.push(target.id)
    } else if (target.status === 'pending') {
      round.moveTarget(target, { status: 'waiting', reason: 'WAITING_CONCURRENCY_TARGET' })
    }
  }
  return queued
}

/**
 * The children of what has ended: queued when their parent has completed, with its commit; skipped, with
 * their own children, when it has not. Returns those that are queued now.
 */
export async function releaseChildren(round: SchedulingPass): Promise<LiveAction[]> {
  await round.flush()
  const ended = new Map(round.loaded().flatMap((one) => (isEnd(one.status) ? [[one.id, one.status]] : [])))
  const { rows } = await sql<{ id: number }>`
    select id from actions where parent_id = any(${[...ended.keys()]}::bigint[]) and status = 'pending'`.execute(
    round.trx,
  )
  const children = await round.load(rows.map((row) => row.id))
  const freed = children.filter((child) => ended.get(child.parentId!) === 'completed')
  await handOverCommit(round.trx, freed)
  for (const child of freed) round.moveAction(child, QUEUED)
  const skipped = children.filter((child) => !freed.includes(child))
  for (const child of skipped) skipAction(round, child)
  return skipped.length > 0 ? [...freed, ...(await releaseChildren(round))] : freed
}

/** A child that deploys the same source deploys the very commit of its parent. */
async function handOverCommit(trx: Transaction<Tables>, children: LiveAction[]): Promise<void> {
  const ids = children.filter((child) => child.type === 'deploy').map((child) => child.id)
  if (ids.length === 0) return
  await sql`
    update actions child set commit = parent.commit, deployment = child.deployment ||
      jsonb_build_object('source_type', 'commit', 'source_ref', parent.commit ->> 'hash')
    from actions parent
    where child.id = any(${ids}::bigint[]) and parent.id = child.parent_id and parent.commit is not null
      and parent.deployment ->> 'repository' = child.deployment ->> 'repository'`.execute(trx)
}
