import { NO_END, overlap, type Ranges } from './ranges.ts'

/**
 * A position in the feed of all moves: the ids of events that were not sent yet. Ids are not in commit order, so
 * "everything up to here" is not enough: an id that belongs to a transaction still in progress may appear later,
 * below ids that were sent. The last range has no end: the events to come.
 */
export type Unseen = Ranges

/** Bounds the length of the text. Naming fewer gaps only means sending some events again. */
const MAX_GAPS = 32

/** `9.3.6-8`: everything up to 9 was sent, except 3 and 6 to 8. */
export function encodeUnseen(unseen: Unseen): string {
  const open = unseen[MAX_GAPS] ?? unseen.at(-1)!
  const gaps = unseen.slice(0, unseen.indexOf(open))
  return [open[0] - 1, ...gaps.map(([from, to]) => (from === to ? from : `${from}-${to}`))].join('.')
}

const FORMAT = /^(0|[1-9]\d{0,15})(\.[1-9]\d{0,15}(-[1-9]\d{0,15})?){0,32}$/

/** Undefined for a text that `encodeUnseen` cannot have written. */
export function decodeUnseen(text: string): Unseen | undefined {
  if (!FORMAT.test(text)) return undefined
  const [last, ...gaps] = text.split('.')
  const ranges = gaps.map((gap) => gap.split('-').map(Number))
  const unseen = [
    ...ranges.map(([from, to = from]) => [from!, to!] as const),
    [Number(last) + 1, NO_END] as const,
  ]
  let previous = -1
  for (const [from, to] of unseen) {
    if (from <= previous + 1 || to < from || to > NO_END) return undefined
    previous = to
  }
  return unseen
}

/** The highest id that was sent, or skipped. */
export function lastSeen(unseen: Unseen): number {
  return unseen.at(-1)![0] - 1
}

/**
 * A transaction ends within this time (see connect.ts), and with it every id that it took appears, or never will.
 * It includes some slack for slow commits.
 */
export const GAP_EXPIRY_MS = 70_000

/** When which id was the last one seen, oldest first. */
export type Marks = readonly { at: number; last: number }[]

const MARK_EVERY_MS = 5_000

/**
 * Drops ids that can no longer appear, after a read. Ids below a mark were taken before it; what had not appeared
 * when a read began long enough after it never will. Pure.
 */
export function expireGaps(unseen: Unseen, marks: Marks, read: { beganAt: number; endedAt: number }) {
  const expired = marks.findLastIndex((mark) => mark.at <= read.beganAt - GAP_EXPIRY_MS)
  const rest = marks.slice(expired + 1)
  const isMarked = rest.length > 0 && rest.at(-1)!.at > read.endedAt - MARK_EVERY_MS
  return {
    unseen: expired === -1 ? unseen : overlap(unseen, [[marks[expired]!.last + 1, NO_END]]),
    marks: isMarked ? rest : [...rest, { at: read.endedAt, last: lastSeen(unseen) }],
  }
}
