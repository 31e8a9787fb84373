import { readScript } from '#platform/scripts.ts'
import type { DeployCommand } from './layout.ts'
import { type Attempt, lockingCommand, plainCommand } from './shell.ts'

const SETTLE = readScript('./settle-release.sh', import.meta.url)
const READ_LIVE = readScript('./read-live.sh', import.meta.url)

/**
 * After a switch whose outcome is not known: from now on no earlier command of this run can switch, not even one that
 * waits for the lock. Then prints what is live, for `parseLive`. Takes the lock from no other run, and touches nothing
 * that is being unpacked. `attempt` has a number that no earlier command of the run had; it fails with `LOCK_LOST` when a
 * later one was here first.
 */
export function settleRelease(base: string, attempt: Attempt): DeployCommand {
  return lockingCommand(base, attempt, SETTLE)
}

/** Only reads, for `parseLive`. */
export function readLive(base: string): DeployCommand {
  return plainCommand(base, READ_LIVE)
}
