import { sql } from 'kysely'
import { isEnd, type State } from '#model/actions/status.ts'

// `rollout.on_failure: revert_all`: a target that is done is held until the last batch has ended. It runs nothing and
// takes no slot. Pure.

type Target = State & { batch: number }

export const HELD: State = { status: 'in-progress', reason: 'PENDING' }

export function isHeld({ status, reason }: State): boolean {
  return status === HELD.status && reason === HELD.reason
}

/** The same as an expression about a row of `targets`. */
export const IS_HELD = sql<boolean>`
  (status = ${sql.lit(HELD.status)} and status_reason_code = ${sql.lit(HELD.reason)})`

/** Nothing more of it will run, unless all targets revert. */
export function isOver(target: State): boolean {
  return isEnd(target.status) || isHeld(target)
}

export type Resolution<Of> =
  | { kind: 'undecided' }
  /** These are completed. */
  | { kind: 'done'; targets: Of[] }
  /** The next ones to go back: those of the last batch that has not yet. */
  | { kind: 'back'; targets: Of[] }

/**
 * What becomes of the held targets of an action. Those that went back have failed: it stays with its decision. `excused`
 * are targets whose failure is no reason to go back.
 */
export function resolveHeld<Of extends Target>(
  action: { targets: readonly Of[]; maxFailed: number; revertsAll: boolean; isCancelled: boolean },
  excused: ReadonlySet<Of> = new Set(),
): Resolution<Of> {
  const { targets, maxFailed, revertsAll, isCancelled } = action
  const held = targets.filter(isHeld)
  if (held.length === 0 || !targets.every(isOver)) return { kind: 'undecided' }
  const failed = targets.filter((target) => target.status === 'failed' && !excused.has(target)).length
  if (!revertsAll || isCancelled || failed <= maxFailed) return { kind: 'done', targets: held }
  const last = Math.max(...held.map(({ batch }) => batch))
  return { kind: 'back', targets: held.filter(({ batch }) => batch === last) }
}
