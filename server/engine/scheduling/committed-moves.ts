// What transactions of scheduling have moved, for the metrics: noted while a transaction runs, reported once it has
// committed. One that is rolled back reports nothing.
import { isEnd } from '#model/actions/status.ts'
import type { Database, Transaction } from '#platform/database/connect.ts'
import type { ReasonCode, Status } from '#platform/database/tables.ts'
import { takeTurn } from './environment-turns.ts'

export type CommittedMoves = {
  /** Scheduling passes in this transaction. */
  passes: number
  /** How long the transaction took, waiting for the lock of its environment included. */
  seconds: number
  /** Moves of actions. */
  actions: number
  targets: number
  /** `queuedSeconds`: since its creation; null for a run that followed another one, and had to wait for it. */
  started: { queuedSeconds: number | null }[]
  /** `ranSeconds`: null when it never started. */
  ended: { id: number; status: Status; reason: ReasonCode; ranSeconds: number | null }[]
  endedSteps: Status[]
}

export type OnMoves = (moves: CommittedMoves) => void

const open = new WeakMap<Transaction, CommittedMoves>()

function newMoves(): CommittedMoves {
  return { passes: 0, seconds: 0, actions: 0, targets: 0, started: [], ended: [], endedSteps: [] }
}

/**
 * A transaction whose moves are reported when it has committed. With `environmentId`, it is about that environment alone,
 * and takes its turn among those of this process.
 */
export async function reportMoves<Result>(
  db: Database,
  onMoves: OnMoves | undefined,
  work: (trx: Transaction) => Promise<Result>,
  environmentId?: number,
): Promise<Result> {
  const startedAt = performance.now()
  const moves = newMoves()
  const transact = () =>
    db.transaction().execute((trx) => {
      open.set(trx, moves)
      return work(trx)
    })
  const result = await (environmentId === undefined ? transact() : takeTurn(db, environmentId, transact))
  onMoves?.({ ...moves, seconds: (performance.now() - startedAt) / 1_000 })
  return result
}

export function notePass(trx: Transaction): void {
  const moves = open.get(trx)
  if (moves) moves.passes += 1
}

type ActionMove = {
  previous: Status
  status: Status
  reason: ReasonCode
  action: { id: number; parentId: number | null; createdAt: string; startedAt: string | null }
}

/** `at`: when they moved. */
export function noteActions(trx: Transaction, at: string, noted: readonly ActionMove[]): void {
  const moves = open.get(trx)
  if (!moves) return
  const since = (time: string) => Math.max(0, Date.parse(at) - Date.parse(time)) / 1_000
  moves.actions += noted.length
  for (const { action, previous, status, reason } of noted) {
    const { id, parentId, createdAt, startedAt } = action
    if (status === 'in-progress' && previous !== 'in-progress')
      moves.started.push({ queuedSeconds: parentId === null ? since(createdAt) : null })
    if (isEnd(status))
      moves.ended.push({ id, status, reason, ranSeconds: startedAt === null ? null : since(startedAt) })
  }
}

/** Of actions that have to wait, and nothing else. */
export function noteWaiting(trx: Transaction, count: number): void {
  const moves = open.get(trx)
  if (moves) moves.actions += count
}

/** Of targets, each with those of its steps. */
export function noteTargets(
  trx: Transaction,
  noted: readonly { stepMoves: readonly { status: Status }[] }[],
): void {
  const moves = open.get(trx)
  if (!moves) return
  moves.targets += noted.length
  for (const { stepMoves } of noted) noteSteps(trx, stepMoves)
}

type Steps = readonly { status: Status }[]

export function noteSteps(trx: Transaction, noted: Steps): void {
  open.get(trx)?.endedSteps.push(...endsOf(noted))
}

/** Of a statement that has committed by itself. */
export function reportSteps(onMoves: OnMoves | undefined, moved: Steps): void {
  onMoves?.({ ...newMoves(), endedSteps: endsOf(moved) })
}

function endsOf(steps: Steps): Status[] {
  return steps.flatMap(({ status }) => (isEnd(status) ? [status] : []))
}
