import { EVERYTHING, minus, NO_END, type Ranges } from './ranges.ts'

/**
 * How far a stream of one action has come: it stands in the id of every event, and whoever comes back with it,
 * at whichever process, gets what is missing and no log twice.
 *
 * Nothing gets lost between the numbers, because what each of them counts has one writer at a time:
 * - moves of an action and moves of a target lock its row before they take an id, so for one action and for one
 *   target ids are in the order of commits (for two targets they are not, so each has its own number);
 * - a log only grows at its end, and the next chunk begins where the one before it ends.
 */
export type Progress = {
  readonly actionId: number
  /** The last move of the action. */
  eventId: number
  /** The positions of targets of which there may be more to send. */
  undone: Ranges
  /** Targets of which something was sent and more may come, by position. */
  readonly open: Map<number, TargetProgress>
  /** Everything was sent, and that it was everything. */
  isOver: boolean
}

export type TargetProgress = {
  /** The last move of the target or of a step of it. */
  moveId: number
  /** Up to where the log of each step was sent, first step first; missing: nothing. */
  offsets: number[]
}

export function beginning(actionId: number): Progress {
  return { actionId, eventId: 0, undone: EVERYTHING, open: new Map(), isOver: false }
}

/** Proxies and servers refuse headers of more than 8 KiB. */
const MOST_TEXT = 6_000

/** How many targets can be open at a time before the text of it all could become too long. */
export function roomForTargets(steps: number): number {
  const eachAtMost = 21 + 6 * steps
  return Math.max(1, Math.floor(MOST_TEXT / eachAtMost))
}

/** No number to the base 36. */
const END = 'END'

/** Numbers to the base 36: `action~event~done targets~…~open target:move.offset.offset~…`. */
export function writeProgress({ actionId, eventId, undone, open, isOver }: Progress): string {
  const whole = [short(actionId), short(eventId)]
  if (isOver) return [...whole, END].join('~')
  const done = minus(EVERYTHING, undone).map(([from, to]) =>
    from === to ? short(from) : `${short(from)}-${short(to)}`,
  )
  const begun = [...open].map(
    ([position, { moveId, offsets }]) =>
      `${short(position)}:${[moveId, ...Array.from(offsets, (offset) => offset ?? 0)].map(short).join('.')}`,
  )
  return [...whole, ...done, ...begun].join('~')
}

/** Undefined for a text that `writeProgress` cannot have written. */
export function readProgress(text: string): Progress | undefined {
  const [action, event, ...parts] = text.split('~')
  const [actionId, eventId] = [long(action), long(event)]
  if (actionId === undefined || actionId === 0 || eventId === undefined) return undefined
  const progress: Progress = { ...beginning(actionId), eventId }
  if (parts.length === 1 && parts[0] === END) return { ...progress, isOver: true }
  for (const part of parts) if (!readPart(progress, part)) return undefined
  return progress
}

function readPart(progress: Progress, part: string): boolean {
  const [name, rest, ...more] = part.split(':')
  if (more.length > 0) return false
  if (rest === undefined) return readDone(progress, part)
  const position = long(name)
  const numbers = rest.split('.').map(long)
  if (!position || progress.open.has(position) || !numbers.every((one) => one !== undefined)) return false
  const [moveId, ...offsets] = numbers as number[]
  progress.open.set(position, { moveId: moveId!, offsets })
  return true
}

function readDone(progress: Progress, part: string): boolean {
  const [from, to = from, ...more] = part.split('-').map(long)
  if (!from || !to || to < from || more.length > 0) return false
  progress.undone = minus(progress.undone, [[from, to]])
  return true
}

const short = (number: number) => number.toString(36)

function long(text: string | undefined): number | undefined {
  if (text === undefined || !/^(0|[1-9a-z][0-9a-z]{0,10})$/.test(text)) return undefined
  const number = Number.parseInt(text, 36)
  return number < NO_END ? number : undefined
}
