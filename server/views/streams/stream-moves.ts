import { setTimeout as delay } from 'node:timers/promises'
import { presentStatus } from '#model/actions/present.ts'
import type { Database } from '#platform/database/connect.ts'
import { isOutage } from '#platform/database/outages.ts'
import type { Signal } from '#platform/queue/signal.ts'
import { writeEvent } from './event-text.ts'
import type { TailMember } from './moves-tail.ts'
import { includes, minus, NO_END, overlap, without } from './ranges.ts'
import { type ActionMove, readMoves } from './read-moves.ts'
import type { LiveSettings } from './settings.ts'
import { type Unseen, writeUnseen } from './unseen.ts'

/** Which of these moves the receiver may see and has asked for, as of now; undefined when the receiver may nothing more. */
export type ChooseMoves = (moves: readonly ActionMove[]) => Promise<ReadonlySet<ActionMove> | undefined>

export type FollowedMoves = {
  db: Database
  tail: TailMember
  /** Rings when the tail has more, and when the signal aborts. */
  bell: Signal
  choose: ChooseMoves
  signal: AbortSignal
  settings: Pick<LiveSettings, 'awayMs'>
}

export type MovesPosition = {
  unseen: Unseen
  /** As it was when everything up to it had been taken: `unseen` can be some events ahead. */
  reached: Unseen
}

const PAGE = 500

/** So many characters of events go out in one piece: one by one they would take longer. */
const TOGETHER = 16 * 1024

/**
 * The moves of all actions from a position on, until the signal aborts. Whoever is close behind gets them from the
 * tail that all streams share; whoever is further behind, because of a cut or because they take their time, reads
 * from the database until they have caught up. Either way they are read as they are taken.
 *
 * Nothing gets lost on the way from one to the other: a catch-up ends at what the tail had seen when it began, and
 * everything that the tail saw later is asked of the tail.
 */
export async function* streamMoves(
  { db, tail, bell, choose, signal, settings }: FollowedMoves,
  position: MovesPosition,
): AsyncGenerator<string> {
  /** How many moves of the tail were passed; undefined: the stream has to catch up first. */
  let passed: number | undefined
  let isOver = false

  yield writeEvent('ready', writeUnseen(position.unseen), {})
  while (!signal.aborted && !isOver) {
    try {
      const moves = passed === undefined ? undefined : tail.since(passed)
      if (!moves) yield* catchUp()
      else if (moves.length > 0) yield* followTail(moves)
      else {
        // Ids that the tail has given up need not be waited for here either.
        position.unseen = overlap(position.unseen, tail.now().unseen)
        position.reached = position.unseen
        await bell.wait()
      }
    } catch (error) {
      if (!isOutage(error)) throw error
      await delay(settings.awayMs, undefined, { signal }).catch(() => {})
    }
  }

  async function* followTail(moves: readonly ActionMove[]): AsyncGenerator<string> {
    yield* tell(moves, (move) => {
      position.unseen = without(position.unseen, move.id)
    })
    passed = passed! + moves.length
  }

  async function* catchUp(): AsyncGenerator<string> {
    const { unseen, count } = tail.now()
    const missing = minus(position.unseen, unseen)
    for (let rest = missing; rest.length > 0; ) {
      const moves = await readMoves(db, rest, PAGE)
      yield* tell(moves, (move) => {
        position.unseen = minus(position.unseen, overlap(missing, [[1, move.id]]))
      })
      if (isOver) return
      rest = moves.length < PAGE ? [] : overlap(missing, [[moves.at(-1)!.id + 1, NO_END]])
    }
    position.unseen = overlap(position.unseen, unseen)
    passed = count
  }

  async function* tell(
    moves: readonly ActionMove[],
    pass: (move: ActionMove) => void,
  ): AsyncGenerator<string> {
    const chosen = await choose(moves)
    isOver = !chosen
    let text = ''
    for (const move of chosen ? moves : []) {
      if (!includes(position.unseen, move.id)) continue
      pass(move)
      if (chosen!.has(move)) text += writeEvent('action', writeUnseen(position.unseen), presentMove(move))
      if (text.length < TOGETHER) continue
      yield text
      position.reached = position.unseen
      text = ''
    }
    if (text !== '') yield text
    position.reached = position.unseen
  }
}

function presentMove(move: ActionMove) {
  const { action_id, environment_id, pipeline_id, previous_status, occurred_at } = move
  const state = presentStatus(move.status, move.status_reason_code)
  return { action_id, environment_id, pipeline_id, previous_status, ...state, occurred_at }
}
