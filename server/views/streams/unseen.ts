import { NO_END, type Ranges } from './ranges.ts'

/**
 * Where a stream of all moves stands: the ids of events that it has not sent. Ids are not in the order of
 * commits, so what was sent is not simply "everything up to here": an id that was given to a transaction still
 * under way may appear later, below ids that were sent. The last range has no end: the events to come.
 */
export type Unseen = Ranges

/** A text stays short whatever happens. Naming fewer gaps only means sending some events again. */
const MOST_GAPS = 32

/** `9.3.6-8`: everything up to 9 was sent, but for 3 and 6 to 8. Written into the ids of events, for the way back. */
export function writeUnseen(unseen: Unseen): string {
  const open = unseen[MOST_GAPS] ?? unseen.at(-1)!
  const gaps = unseen.slice(0, unseen.indexOf(open))
  return [open[0] - 1, ...gaps.map(([from, to]) => (from === to ? from : `${from}-${to}`))].join('.')
}

const FORM = /^(0|[1-9]\d{0,15})(\.[1-9]\d{0,15}(-[1-9]\d{0,15})?){0,32}$/

/** Undefined for a text that `writeUnseen` cannot have written. */
export function readUnseen(text: string): Unseen | undefined {
  if (!FORM.test(text)) return undefined
  const [last, ...gaps] = text.split('.')
  const unseen = [...gaps.map(readGap), [Number(last) + 1, NO_END] as const]
  let previous = -1
  for (const [from, to] of unseen) {
    if (from <= previous + 1 || to < from || to > NO_END) return undefined
    previous = to
  }
  return unseen
}

function readGap(text: string): readonly [number, number] {
  const [from, to] = text.split('-').map(Number)
  return [from!, to ?? from!]
}

/** The highest id that was sent, or passed over. */
export function lastSeen(unseen: Unseen): number {
  return unseen.at(-1)![0] - 1
}
