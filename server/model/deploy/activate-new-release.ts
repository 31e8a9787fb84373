import { readScript } from '#platform/scripts.ts'
import { assertReleaseName, type DeployCommand, isReleaseName } from './layout.ts'
import { type Attempt, lockingCommand } from './shell.ts'

const ACTIVATE = readScript('./activate-new-release.sh', import.meta.url)

/**
 * Step 5: switches `current` atomically, so that it always points to a complete release. Only for the attempt that
 * holds the lock; another one gets `LOCK_LOST`, and nothing changes. Idempotent. Its output is for `readLiveBefore`.
 */
export function activateRelease(base: string, attempt: Attempt, release: string): DeployCommand {
  return lockingCommand(base, attempt, ACTIVATE, { GANTRY_RELEASE: assertReleaseName(release) })
}

/** What was live before this run, as the command printed it; null when that was not a release. */
export function readLiveBefore(output: string): string | null {
  const name = /^Live before: (\S+)$/m.exec(output)?.[1]
  return name !== undefined && isReleaseName(name) ? name : null
}
