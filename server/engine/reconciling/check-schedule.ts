const SECOND = 1_000
const MINUTE = 60 * SECOND

/** When a status is read back, after it was sent. */
export const CHECKS_AFTER_MS = [5 * SECOND, MINUTE, 10 * MINUTE]
/** A service that cannot be reached is asked a few more times. */
const RETRY_AFTER_MS = 10 * MINUTE
const MAX_CHECKS = 6

type Checked = {
  /** How long ago it was sent. */
  ageMs: number
  /** This one included. */
  checks: number
  /** The service could not be asked. */
  isTemporary: boolean
}

/** How long until the next check; null when this was the last. After a downtime those that were missed are one. Pure. */
export function nextCheck({ ageMs, checks, isTemporary }: Checked): number | null {
  const next = CHECKS_AFTER_MS.find((afterMs) => afterMs > ageMs)
  if (next !== undefined) return next - ageMs
  return isTemporary && checks < MAX_CHECKS ? RETRY_AFTER_MS : null
}
