const SECOND = 1_000
const HOUR = 3_600 * SECOND

/** How often a host is asked about a webhook, and when what cannot succeed is tried again. */
export const CHECK_EVERY_MS = HOUR
/** How soon a repaired connection catches up with what it missed. */
export const AFTER_REPAIR_MS = 5 * SECOND
const FIRST_RETRY_MS = 30 * SECOND
/** Hosts that refuse to remove a webhook are asked for this long. */
export const REMOVE_FOR_MS = 24 * HOUR

type Tried = {
  /** The host did not answer, or not sensibly. */
  isTemporary: boolean
  /** In a row, without this one. */
  failures: number
  /** From 0 to 1: the webhooks of an installation are not all checked in the same second. */
  random: number
}

/** How long until a host is asked again. Pure. */
export function nextTry({ isTemporary, failures, random }: Tried): number {
  const ms = isTemporary ? Math.min(HOUR, FIRST_RETRY_MS * 2 ** Math.min(failures, 10)) : CHECK_EVERY_MS
  return Math.round(ms * (0.9 + 0.2 * random))
}
