// The scheduling room decides which action and which target runs next, within the limits of pipelines and
// servers. After an action is created, every status change is decided and stored here, one environment at a
// time. The runner reports through target-lifecycle.ts, users cancel through cancel.ts.

import { sql } from 'kysely'
import { canMove, isEnd, type State } from '#model/actions/status.ts'
import type { Transaction } from '#platform/database/connect.ts'
import type { Status, StoredStep } from '#platform/database/tables.ts'
import { stepMoves } from './steps.ts'
import { loadActions, type Moves, type ScheduledAction, type ScheduledTarget, storeMoves } from './store.ts'

/**
 * One transaction on an environment under its lock: actions are read into memory, moved there, and written back
 * together, each move with its event. A move that the rules forbid is a bug, and throws.
 */
export type SchedulingPass = {
  readonly trx: Transaction
  /** The database's time, the same for all moves of the pass. */
  readonly at: string
  /** Loads those that are not loaded yet; returns them in the order of ids. Unknown ids are left out. */
  load(ids: readonly number[]): Promise<ScheduledAction[]>
  loaded(): ScheduledAction[]
  acquireSlot(action: ScheduledAction): void
  moveAction(action: ScheduledAction, next: State): void
  /** With `steps` when they move along. */
  moveTarget(target: ScheduledTarget, next: State, steps?: StoredStep[]): void
  /** Writes what has changed since the last time. */
  flush(): Promise<void>
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

export async function openSchedulingPass(trx: Transaction, environmentId: number): Promise<SchedulingPass> {
  await lockScheduling(trx, [environmentId])
  const { rows } = await sql<{ at: string }>`select clock_timestamp()::timestamptz(3) as at`.execute(trx)
  const at = rows[0]!.at
  const actions = new Map<number, ScheduledAction>()
  const newMoves = (): Moves => ({ slotted: [], actions: [], targets: [] })
  let moves = newMoves()

  return {
    trx,
    at,
    loaded: () => [...actions.values()],
    async load(ids) {
      const unknown = ids.filter((id) => !actions.has(id))
      for (const action of await loadActions(trx, environmentId, unknown)) actions.set(action.id, action)
      return [...new Set(ids)].sort((a, b) => a - b).flatMap((id) => actions.get(id) ?? [])
    },
    acquireSlot(action) {
      action.hasSlot = true
      moves.slotted.push(action)
    },
    moveAction(action, next) {
      if (action.status === next.status && action.reason === next.reason) return
      assertMove(`action ${action.id}`, action.status, next.status)
      moves.actions.push({ action, previous: action.status, ...next })
      Object.assign(action, next)
      if (next.status === 'in-progress') action.startedAt ??= at
      if (isEnd(next.status)) action.hasSlot = false
    },
    moveTarget(target, next, steps = target.steps) {
      assertMove(`target ${target.id}`, target.status, next.status)
      const move = { target, previous: target.status, ...next, stepMoves: stepMoves(target.steps, steps) }
      moves.targets.push(move)
      Object.assign(target, next, { steps })
      if (next.status === 'in-progress') target.startedAt ??= at
    },
    flush() {
      const due = moves
      moves = newMoves()
      return storeMoves(trx, at, due)
    },
  }
}

function assertMove(what: string, from: Status, to: Status): void {
  if (from !== to && !canMove(from, to)) throw new Error(`${what} must not move from ${from} to ${to}`)
}
