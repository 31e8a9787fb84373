import { sql, type Transaction } from 'kysely'
import { canMove, isEnd, type State } from '#model/actions/status.ts'
import type { Status, StoredStep, Tables } from '#platform/database/tables.ts'
import type { LiveAction, LiveTarget } from './live-action.ts'
import { loadActions } from './load-actions.ts'
import { type ActionMove, storeMoves, type TargetMove } from './store-moves.ts'

/**
 * One look at an environment under its lock: actions are read into memory, moved there, and written back
 * together, each move with its event. A move that the rules forbid is a fault of ours, and throws.
 */
export type SchedulingPass = {
  readonly trx: Transaction<Tables>
  /** The database's time, the same for all moves of the round. */
  readonly at: string
  /** Those that are not loaded yet are loaded; the answer is in the order of ids. Unknown ids are left out. */
  load(ids: readonly number[]): Promise<LiveAction[]>
  loaded(): LiveAction[]
  givePlace(action: LiveAction): void
  moveAction(action: LiveAction, next: State): void
  /** With `steps` when they move along. */
  moveTarget(target: LiveTarget, next: State, steps?: StoredStep[]): void
  /** Writes what has changed since the last time. */
  flush(): Promise<void>
}

/**
 * Taken before any row of these environments is moved, and kept to the end of the transaction. Moves of one
 * environment then happen one after another, whoever makes them, so nobody counts places that another is
 * about to take.
 */
export async function lockScheduling(
  trx: Transaction<Tables>,
  environmentIds: readonly number[],
): Promise<void> {
  for (const id of [...new Set(environmentIds)].sort((one, other) => one - other)) {
    await sql`select pg_advisory_xact_lock(hashtextextended('scheduling ' || ${id}::bigint, 0))`.execute(trx)
  }
}

export async function openSchedulingPass(
  trx: Transaction<Tables>,
  environmentId: number,
): Promise<SchedulingPass> {
  await lockScheduling(trx, [environmentId])
  const { rows } = await sql<{ at: string }>`select clock_timestamp()::timestamptz(3) as at`.execute(trx)
  const at = rows[0]!.at
  const actions = new Map<number, LiveAction>()
  let placed: LiveAction[] = []
  let actionMoves: ActionMove[] = []
  let targetMoves: TargetMove[] = []

  return {
    trx,
    at,
    loaded: () => [...actions.values()],
    async load(ids) {
      const unknown = ids.filter((id) => !actions.has(id))
      for (const action of await loadActions(trx, environmentId, unknown)) actions.set(action.id, action)
      return [...new Set(ids)].sort((one, other) => one - other).flatMap((id) => actions.get(id) ?? [])
    },
    givePlace(action) {
      action.hasPlace = true
      placed.push(action)
    },
    moveAction(action, next) {
      if (action.status === next.status && action.reason === next.reason) return
      assertMove(`action ${action.id}`, action.status, next.status)
      actionMoves.push({ action, previous: action.status, ...next })
      Object.assign(action, next)
      if (next.status === 'in-progress') action.startedAt ??= at
      if (isEnd(next.status)) action.hasPlace = false
    },
    moveTarget(target, next, steps = target.steps) {
      assertMove(`target ${target.id}`, target.status, next.status)
      targetMoves.push({
        target,
        previous: target.status,
        ...next,
        stepMoves: stepMoves(target.steps, steps),
      })
      Object.assign(target, next, { steps })
      if (next.status === 'in-progress') target.startedAt ??= at
    },
    async flush() {
      const moves = { placed, actionMoves, targetMoves }
      placed = []
      actionMoves = []
      targetMoves = []
      await storeMoves(trx, at, moves)
    },
  }
}

function assertMove(what: string, from: Status, to: Status): void {
  if (from !== to && !canMove(from, to)) throw new Error(`${what} must not move from ${from} to ${to}`)
}

export function stepMoves(
  before: readonly StoredStep[],
  after: readonly StoredStep[],
): TargetMove['stepMoves'] {
  return after.flatMap((step, index) => {
    const previous = before[index]!.status
    if (previous === step.status) return []
    return { order: step.order, previous, status: step.status, reason: step.reason }
  })
}
