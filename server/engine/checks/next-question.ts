export const SLOWEST = 8

type Asked = {
  /** How long the host has given the same answer. */
  unchangedMs: number
  /** Of the runs that wait for it: for how long nothing may change. */
  settleSeconds: readonly number[]
  /** The shortest time between two questions. */
  minMs: number
}

/** How long until the host is asked again: soon after a change, and just when a run may pass; up to eight times slower. Pure. */
export function nextQuestion({ unchangedMs, settleSeconds, minMs }: Asked): number {
  const slowing = Math.min(SLOWEST * minMs, Math.max(minMs, unchangedMs / 4))
  const settling = settleSeconds.map((seconds) => seconds * 1_000 - unchangedMs).filter((ms) => ms > 0)
  return Math.round(Math.max(minMs, Math.min(slowing, ...settling)))
}
