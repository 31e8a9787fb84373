import type { ReasonCode, Status } from '#platform/database/tables.ts'

// The one place that knows how actions, targets and steps may move. Pure.

/** Ends are final. */
const MOVES: Record<Status, readonly Status[]> = {
  pending: ['queued', 'waiting', 'skipped', 'failed'],
  waiting: ['queued', 'skipped', 'failed'],
  queued: ['waiting', 'in-progress', 'skipped', 'failed'],
  'in-progress': ['completed', 'failed'],
  completed: [],
  failed: [],
  skipped: [],
}

export type State = { status: Status; reason: ReasonCode }

export function canMove(from: Status, to: Status): boolean {
  return MOVES[from].includes(to)
}

export function isEnd(status: Status): boolean {
  return MOVES[status].length === 0
}

export const UNFINISHED: readonly Status[] = (Object.keys(MOVES) as Status[]).filter(
  (status) => !isEnd(status),
)

/** How an action begins: ready for a worker, unless it waits for another action to complete. */
export function firstState(start: { waitsForParent: boolean }): State {
  return start.waitsForParent
    ? { status: 'pending', reason: 'PENDING' }
    : { status: 'queued', reason: 'QUEUED' }
}

/** How whatever never ran ends: an earlier step, batch or parent failed, or a newer run took its place. */
export const SKIPPED: State = { status: 'skipped', reason: 'SKIPPED' }
