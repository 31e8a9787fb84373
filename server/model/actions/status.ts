import type { ReasonCode, Status } from '#platform/database/tables.ts'

// The state machine of actions, targets and steps: the only module that knows which moves are allowed. Pure.

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

/** The first state of an action: ready for a worker, unless it waits for another action to complete. */
export function firstState(start: { waitsForParent: boolean }): State {
  return start.waitsForParent
    ? { status: 'pending', reason: 'PENDING' }
    : { status: 'queued', reason: 'QUEUED' }
}

/** The end of what never ran: an earlier step, batch or parent failed, or a newer run superseded it. */
export const SKIPPED: State = { status: 'skipped', reason: 'SKIPPED' }

/** The end of a run whose hook has `trigger_when.paths`: no file that they match has changed since what is live. */
export const UNCHANGED: State = { status: 'skipped', reason: 'SKIPPED_UNCHANGED' }

/** The end of a run that left its gates too late: a newer one of the same branch has started, or is the one that continues. */
export const OUTDATED: State = { status: 'skipped', reason: 'SKIPPED_OUTDATED' }

/** Of an action that a freeze holds, and of its targets that had waited for their server. */
export const WAITING_FOR_FREEZE: State = { status: 'waiting', reason: 'WAITING_FREEZE' }

/** Of an action whose commit has checks that are not green yet, and of its targets that had a slot. */
export const WAITING_FOR_CHECKS: State = { status: 'waiting', reason: 'WAITING_CHECKS' }

/** The end of a run that never started: a check is red, or they took too long. */
export const CHECKS_FAILED: State = { status: 'failed', reason: 'FAILED_CHECKS' }

/** Of an action that needs approval, and of its targets that need it again. */
export const WAITING_FOR_APPROVAL: State = { status: 'waiting', reason: 'WAITING_APPROVAL' }

/** The end of a run that was not approved in time; `FAILED_EXPIRED` for what waited after others had started. */
export const EXPIRED: State = { status: 'skipped', reason: 'SKIPPED_EXPIRED' }

/** Of an action that has no slot on its pipeline yet. */
export const WAITING_FOR_PIPELINE: State = { status: 'waiting', reason: 'WAITING_CONCURRENCY_PIPELINE' }
