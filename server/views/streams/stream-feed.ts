import type { ActionFilters } from '#model/actions/filters.ts'
import type { Database } from '#platform/database/connect.ts'
import { isOutage } from '#platform/database/outages.ts'
import type { Signal } from '#platform/queue/signal.ts'
import { encodeUnseen, type Unseen } from './feed-cursor.ts'
import type { FeedTail } from './feed-tail.ts'
import { includes, minus, NO_END, overlap, without } from './ranges.ts'
import { type ActionMove, readMoves } from './read-feed.ts'
import type { StreamDeps } from './settings.ts'
import { formatEvent, pause } from './sse.ts'
import { presentMove } from './stream-action.ts'

/** Which of these moves the caller may see and asked for, as of now; undefined when the token is no longer valid. */
export type SelectMoves = (moves: readonly ActionMove[]) => Promise<ReadonlySet<ActionMove> | undefined>

type FeedStreamDeps = StreamDeps & {
  db: Database
  tail: FeedTail
  /** Fires when the tail has more, and when the signal aborts. */
  wakeUp: Signal
  select: SelectMoves
}

type FeedPosition = {
  unseen: Unseen
  /** As it was when everything up to it had been sent: `unseen` can be some events ahead. */
  reached: Unseen
}

const PAGE = 500

/** Events are sent in chunks of this many characters: one by one would be slower. */
const PIECE = 16 * 1024

/**
 * The moves of all actions after a position, until the signal aborts. A stream that is close behind gets them from
 * the tail that all streams share; one that is further behind, because it reconnected or because its client is
 * slow, reads the database until it has caught up. Either way moves are read on demand.
 *
 * Nothing is lost on the way from one to the other: a catch-up ends at what the tail had seen when the catch-up
 * began, and everything that the tail saw later comes from the tail.
 */
export async function* streamFeed(
  { db, tail, wakeUp, select, signal, settings }: FeedStreamDeps,
  position: FeedPosition,
): AsyncGenerator<string> {
  /** How many moves of the tail were passed; undefined: the stream has to catch up first. */
  let passed: number | undefined
  let isOver = false

  yield formatEvent('ready', encodeUnseen(position.unseen), {})
  while (!signal.aborted && !isOver) {
    try {
      const moves = passed === undefined ? undefined : tail.since(passed)
      if (!moves) yield* catchUp()
      else if (moves.length > 0) yield* followTail(moves)
      else {
        // Ids that the tail no longer waits for need not be waited for here either.
        position.unseen = overlap(position.unseen, tail.position().unseen)
        position.reached = position.unseen
        await wakeUp.wait()
      }
    } catch (error) {
      if (!isOutage(error)) throw error
      await pause(settings.outageRetryMs, signal)
    }
  }

  async function* followTail(moves: readonly ActionMove[]): AsyncGenerator<string> {
    yield* send(moves, (move) => {
      position.unseen = without(position.unseen, move.id)
    })
    passed = passed! + moves.length
  }

  async function* catchUp(): AsyncGenerator<string> {
    const { unseen, count } = tail.position()
    const missing = minus(position.unseen, unseen)
    for (let rest = missing; rest.length > 0; ) {
      const moves = await readMoves(db, rest, PAGE)
      yield* send(moves, (move) => {
        position.unseen = minus(position.unseen, overlap(missing, [[1, move.id]]))
      })
      if (isOver) return
      rest = moves.length < PAGE ? [] : overlap(missing, [[moves.at(-1)!.id + 1, NO_END]])
    }
    position.unseen = overlap(position.unseen, unseen)
    passed = count
  }

  async function* send(moves: readonly ActionMove[], pass: (move: ActionMove) => void) {
    const selected = await select(moves)
    isOver = !selected
    let text = ''
    for (const move of selected ? moves : []) {
      if (!includes(position.unseen, move.id)) continue
      pass(move)
      if (selected!.has(move))
        text += formatEvent('action', encodeUnseen(position.unseen), presentActionMove(move))
      if (text.length < PIECE) continue
      yield text
      position.reached = position.unseen
      text = ''
    }
    if (text !== '') yield text
    position.reached = position.unseen
  }
}

function presentActionMove(move: ActionMove) {
  const { action_id, environment_id, pipeline_id } = move
  return { action_id, environment_id, pipeline_id, ...presentMove(move) }
}

/**
 * Whether a move matches the filters, apart from those for environments. A status matches when the move goes to it
 * and also when it leaves it: a client that keeps a list of active runs needs both. Pure.
 */
export function matchesFilters(filters: ActionFilters, move: ActionMove): boolean {
  return (
    COMPARED.every((name) => isAnyOf<string | number>(filters[name], move[name])) &&
    (isAnyOf(filters.status, move.status) || isAnyOf(filters.status, move.previous_status)) &&
    // Timestamps have one format, so they compare as strings.
    (filters.created_after === undefined || move.created_at >= filters.created_after) &&
    (filters.created_before === undefined || move.created_at < filters.created_before)
  )
}

const COMPARED = [
  'pipeline_id',
  'resource_type',
  'resource_id',
  'type',
  'trigger_type',
  'hook_id',
  'user_id',
] as const

function isAnyOf<Value>(wanted: readonly Value[] | undefined, value: Value | null): boolean {
  return wanted === undefined || (value !== null && wanted.includes(value))
}
