import { EVERYTHING, minus, NO_END, type Ranges } from './ranges.ts'

/**
 * The position of a client in the stream of one action. It is the id of every event; a client that reconnects with
 * it, to any process, gets what is missing and no log text twice.
 *
 * Nothing can get lost below these numbers, because what each of them counts has one writer at a time:
 * - moves of an action and moves of a target lock its row before they take an id, so for one action and for one
 *   target ids are in commit order (not across targets, so each target has its own number);
 * - a log only grows at its end, and the next chunk begins where the previous one ends.
 */
export type ActionCursor = {
  readonly actionId: number
  /** The last move of the action. */
  eventId: number
  /** The positions of targets that may have more to send. */
  unfinished: Ranges
  /** Targets of which something was sent and more may come, by position. */
  readonly open: Map<number, TargetCursor>
  /** Everything was sent, `end` included. */
  isEnded: boolean
}

export type TargetCursor = {
  /** The last move of the target or of one of its steps. */
  moveId: number
  /** How far the log of each step was sent, first step first; missing: nothing. */
  offsets: number[]
}

export function startCursor(actionId: number): ActionCursor {
  return { actionId, eventId: 0, unfinished: EVERYTHING, open: new Map(), isEnded: false }
}

/** Proxies and servers reject headers larger than 8 KiB. */
const MAX_LENGTH = 6_000

/** How many targets can be open at a time before the encoded cursor could become too long. */
export function maxOpenTargets(steps: number): number {
  // An offset of seven digits is beyond 70 GB.
  const perTarget = 21 + 8 * steps
  return Math.max(1, Math.floor(MAX_LENGTH / perTarget))
}

/** Not a base-36 number. */
const END = 'END'

/** Base-36 numbers: `action~event~finished targets~…~open target:move.offset.offset~…`. */
export function encodeCursor({ actionId, eventId, unfinished, open, isEnded }: ActionCursor): string {
  const action = [encode(actionId), encode(eventId)]
  if (isEnded) return [...action, END].join('~')
  const finished = minus(EVERYTHING, unfinished).map(([from, to]) =>
    from === to ? encode(from) : `${encode(from)}-${encode(to)}`,
  )
  const targets = [...open].map(
    ([position, { moveId, offsets }]) =>
      `${encode(position)}:${[moveId, ...Array.from(offsets, (offset) => offset ?? 0)].map(encode).join('.')}`,
  )
  return [...action, ...finished, ...targets].join('~')
}

/** Undefined for a text that `encodeCursor` cannot have written. */
export function decodeCursor(text: string): ActionCursor | undefined {
  const [action, event, ...parts] = text.split('~')
  const [actionId, eventId] = [decode(action), decode(event)]
  if (!actionId || eventId === undefined) return undefined
  const cursor: ActionCursor = { ...startCursor(actionId), eventId }
  if (parts.length === 1 && parts[0] === END) return { ...cursor, isEnded: true }
  return parts.every((part) => decodePart(cursor, part)) ? cursor : undefined
}

function decodePart(cursor: ActionCursor, part: string): boolean {
  const [name, rest, ...more] = part.split(':')
  if (more.length > 0) return false
  if (rest === undefined) return decodeFinished(cursor, part)
  const position = decode(name)
  const numbers = rest.split('.').map(decode)
  if (!position || cursor.open.has(position) || numbers.includes(undefined)) return false
  const [moveId, ...offsets] = numbers as number[]
  cursor.open.set(position, { moveId: moveId!, offsets })
  return true
}

function decodeFinished(cursor: ActionCursor, part: string): boolean {
  const [from, to = from, ...more] = part.split('-').map(decode)
  if (!from || !to || to < from || more.length > 0) return false
  cursor.unfinished = minus(cursor.unfinished, [[from, to]])
  return true
}

const encode = (number: number) => number.toString(36)

function decode(text: string | undefined): number | undefined {
  if (text === undefined || !/^(0|[1-9a-z][0-9a-z]{0,10})$/.test(text)) return undefined
  const number = Number.parseInt(text, 36)
  return number < NO_END ? number : undefined
}
