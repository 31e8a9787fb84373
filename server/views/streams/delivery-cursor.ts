/**
 * A position among the records of a hook's deliveries. Their ids begin with the time at which the attempt ended, but
 * several processes store them, each a little later: everything below `from` was sent, and `seen` of what is above it.
 */
export type DeliveryCursor = { from: number; seen: Set<string> }

/** A record is stored this soon after its id was made, unless the database is away. */
export const LATE_MS = 30_000

/** Bounds the length of the text. Naming fewer only means sending some deliveries again. */
const MAX_NAMED = 32

/** `1794800000000.5cd31b61ec96.…`: the time, and the ends of the ids that were sent since then. */
export function encodeCursor({ from, seen }: DeliveryCursor): string {
  return [from, ...[...seen].slice(-MAX_NAMED).map(shortOf)].join('.')
}

const FORMAT = /^\d{1,14}(\.[0-9a-f]{12}){0,32}$/

/** Undefined for a text that `encodeCursor` cannot have written. */
export function decodeCursor(text: string): DeliveryCursor | undefined {
  if (!FORMAT.test(text)) return undefined
  const [from, ...seen] = text.split('.')
  return { from: Number(from), seen: new Set(seen) }
}

export function isSeen({ seen }: DeliveryCursor, id: string): boolean {
  return seen.has(id) || seen.has(shortOf(id))
}

/** Random, and short. */
const shortOf = (id: string) => id.slice(-12)

/** When the record with this id was made, in milliseconds. */
export function timeOf(id: string): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)
}

/** After everything up to `until` was read: what can still be missing is at most `lateMs` older. Pure. */
export function advance(cursor: DeliveryCursor, until: number, lateMs = LATE_MS): DeliveryCursor {
  const from = Math.max(cursor.from, until - lateMs)
  return { from, seen: new Set([...cursor.seen].filter((id) => id.length === 12 || timeOf(id) >= from)) }
}
