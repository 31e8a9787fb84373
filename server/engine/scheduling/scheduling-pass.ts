// The scheduling room decides which action and which target runs next, within the limits of pipelines and
// servers. After an action is created, every status change is decided and stored here, one environment at a
// time. The runner reports through target-lifecycle.ts, users cancel through cancel.ts.

import { sql } from 'kysely'
import { ACTIONS_CHANNEL } from '#model/actions/channel.ts'
import { canMove, isEnd, type State } from '#model/actions/status.ts'
import { recordEvents } from '#model/events/fan-out.ts'
import { readLiveWorkers } from '#model/workers/live-workers.ts'
import type { LiveWorker } from '#model/workers/placement.ts'
import type { Transaction } from '#platform/database/connect.ts'
import type { Status, StoredStep } from '#platform/database/tables.ts'
import { noteActions, notePass, noteTargets } from './committed-moves.ts'
import { type StepMove, stepMoves } from './states.ts'

export type ScheduledTarget = State & {
  id: number
  actionId: number
  batch: number
  serverId: number
  startedAt: string | null
  steps: StoredStep[]
}

export type ScheduledAction = State & {
  id: number
  pipelineId: number
  type: string
  parentId: number | null
  createdAt: string
  startedAt: string | null
  /** It counts against the concurrency limit of its pipeline. */
  hasSlot: boolean
  /** How many targets may fail before later batches are skipped. */
  maxFailed: number
  targets: ScheduledTarget[]
}

/**
 * Taken before any row of these environments moves, and held to the end of the transaction. The moves of one
 * environment are serialized, so no two transactions count the same free slot.
 */
export async function lockScheduling(trx: Transaction, environmentIds: readonly number[]): Promise<void> {
  for (const id of [...new Set(environmentIds)].sort((a, b) => a - b)) {
    await sql`select pg_advisory_xact_lock(hashtextextended('scheduling ' || ${id}::bigint, 0))`.execute(trx)
  }
}

export type SchedulingPass = Awaited<ReturnType<typeof openSchedulingPass>>

/**
 * One transaction on an environment under its lock: actions are read into memory, moved there, and written back
 * together, each move with its event. A move that the rules forbid is a bug, and throws.
 */
export async function openSchedulingPass(trx: Transaction, environmentId: number) {
  notePass(trx)
  await lockScheduling(trx, [environmentId])
  const { rows } = await sql<{ at: string }>`select clock_timestamp()::timestamptz(3) as at`.execute(trx)
  const at = rows[0]!.at
  const actions = new Map<number, ScheduledAction>()
  const newMoves = (): Moves => ({ slotted: [], actions: [], targets: [] })
  let moves = newMoves()
  let workers: Promise<LiveWorker[]> | undefined

  return {
    trx,
    /** The workers that are online, read once. */
    workers(): Promise<LiveWorker[]> {
      workers ??= readLiveWorkers(trx)
      return workers
    },
    /** The database's time, the same for all moves of the pass. */
    at,
    loaded: () => [...actions.values()],
    /** Loads those that are not loaded yet; returns them in the order of ids. Unknown ids are left out. */
    async load(ids: readonly number[]): Promise<ScheduledAction[]> {
      const unknown = ids.filter((id) => !actions.has(id))
      for (const action of await loadActions(trx, environmentId, unknown)) actions.set(action.id, action)
      return [...new Set(ids)].sort((a, b) => a - b).flatMap((id) => actions.get(id) ?? [])
    },
    acquireSlot(action: ScheduledAction): void {
      action.hasSlot = true
      moves.slotted.push(action)
    },
    moveAction(action: ScheduledAction, next: State): void {
      if (action.status === next.status && action.reason === next.reason) return
      assertMove(`action ${action.id}`, action.status, next.status)
      moves.actions.push({ action, previous: action.status, ...next })
      Object.assign(action, next)
      if (next.status === 'in-progress') action.startedAt ??= at
      if (isEnd(next.status)) action.hasSlot = false
    },
    /** With `steps` when they move along. */
    moveTarget(target: ScheduledTarget, next: State, steps: StoredStep[] = target.steps): void {
      assertMove(`target ${target.id}`, target.status, next.status)
      const move = { target, previous: target.status, ...next, stepMoves: stepMoves(target.steps, steps) }
      moves.targets.push(move)
      Object.assign(target, next, { steps })
      if (next.status === 'in-progress') target.startedAt ??= at
    },
    /** Writes what has changed since the last time. */
    flush(): Promise<void> {
      const due = moves
      moves = newMoves()
      return storeMoves(trx, at, due)
    },
  }
}

function assertMove(what: string, from: Status, to: Status): void {
  if (from !== to && !canMove(from, to)) throw new Error(`${what} must not move from ${from} to ${to}`)
}

async function loadActions(
  trx: Transaction,
  environmentId: number,
  ids: readonly number[],
): Promise<ScheduledAction[]> {
  if (ids.length === 0) return []
  const { rows } = await sql<ScheduledAction>`
    select a.id, a.pipeline_id as "pipelineId", a.type, a.parent_id as "parentId", a.status,
      a.status_reason_code as reason, a.created_at as "createdAt", a.started_at as "startedAt", a.has_place as "hasSlot",
      coalesce((p.rollout ->> 'max_failed')::int, 0) as "maxFailed",
      (select json_agg(json_build_object('id', t.id, 'actionId', t.action_id, 'batch', t.batch,
          'serverId', t.server_id, 'status', t.status, 'reason', t.status_reason_code,
          'startedAt', t.started_at, 'steps', t.steps) order by t.position)
        from targets t where t.action_id = a.id) as targets
    from actions a join pipelines p on p.id = a.pipeline_id
    where a.id = any(${ids}::bigint[]) and a.environment_id = ${environmentId}
    order by a.id`.execute(trx)
  return rows
}

/** What has changed in a pass, in order. `slotted` actions have acquired a slot on their pipeline. */
type Moves = {
  slotted: ScheduledAction[]
  actions: (State & { action: ScheduledAction; previous: Status })[]
  targets: (State & { target: ScheduledTarget; previous: Status; stepMoves: StepMove[] })[]
}

/** Writes the new state of actions and targets, every single move, and notifies watchers. */
async function storeMoves(trx: Transaction, at: string, moves: Moves): Promise<void> {
  await storeTargets(trx, at, moves.targets)
  await storeActions(trx, at, moves)
  noteTargets(trx, moves.targets)
  noteActions(trx, at, moves.actions)
  const moved = [
    ...moves.actions.map(({ action }) => action.id),
    ...moves.targets.map(({ target }) => target.actionId),
  ]
  const messages = [...new Set(moved)].map((id) => `move ${id}`)
  if (messages.length === 0) return
  const notified = sql`select pg_notify(${ACTIONS_CHANNEL}, message) from unnest(${messages}::text[]) as message`
  await notified.execute(trx)
}

async function storeTargets(trx: Transaction, at: string, moves: Moves['targets']): Promise<void> {
  if (moves.length === 0) return
  const targets = [...new Set(moves.map(({ target }) => target))]
  const changed = targets.map((target) => ({ ...target, completedAt: isEnd(target.status) ? at : null }))
  await sql`
    update targets set status = moved.status, status_reason_code = moved.reason, started_at = moved."startedAt",
      completed_at = moved."completedAt", steps = moved.steps, updated_at = ${at}
    from json_to_recordset(${JSON.stringify(changed)}::json) as moved
      (id bigint, status text, reason text, "startedAt" timestamptz, "completedAt" timestamptz, steps jsonb)
    where targets.id = moved.id`.execute(trx)
  // Of a target, then of its steps; a missing `order` becomes null.
  const rows = moves.flatMap(({ target, stepMoves, previous, status, reason }) =>
    [{ previous, status, reason }, ...stepMoves].map((move) => ({ target_id: target.id, ...move })),
  )
  await sql`
    insert into target_moves (target_id, step_order, previous_status, status, status_reason_code, occurred_at)
    select target_id, step_order, previous, status, reason, ${at}
    from rows from (json_to_recordset(${JSON.stringify(rows)}::json) as
      (target_id bigint, "order" int, previous text, status text, reason text)) with ordinality as
      moved (target_id, step_order, previous, status, reason, n)
    order by n`.execute(trx)
}

async function storeActions(trx: Transaction, at: string, { slotted, actions: moves }: Moves) {
  const actions = [...new Set([...slotted, ...moves.map(({ action }) => action)])]
  if (actions.length === 0) return
  const changed = actions.map(({ targets, ...action }) => ({
    ...action,
    completedAt: isEnd(action.status) ? at : null,
  }))
  await sql`
    update actions set status = moved.status, status_reason_code = moved.reason, has_place = moved."hasSlot",
      started_at = moved."startedAt", completed_at = moved."completedAt", updated_at = ${at}
    from json_to_recordset(${JSON.stringify(changed)}::json) as moved
      (id bigint, status text, reason text, "hasSlot" boolean, "startedAt" timestamptz, "completedAt" timestamptz)
    where actions.id = moved.id`.execute(trx)
  await recordEvents(
    trx,
    at,
    moves.map(({ action, previous, status, reason }) => ({
      action_id: action.id,
      pipeline_id: action.pipelineId,
      previous_status: previous,
      status,
      status_reason_code: reason,
      is_final: isEnd(status),
    })),
  )
}
