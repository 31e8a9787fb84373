import { readScript } from '#platform/scripts.ts'
import { assertReleaseName, type DeployCommand } from './layout.ts'
import { type Attempt, lockingCommand } from './shell.ts'

const REVERT = readScript('./revert-release.sh', import.meta.url)

/**
 * Reverts from the release of this run to the one that was live before it: atomically, and only if this run was the last
 * to switch. What another run has made live stays, even if that is the same release. Idempotent. A link was prepared at
 * activation, so that a full disk is no obstacle.
 */
export function revertRelease(
  base: string,
  attempt: Attempt,
  { release, before }: { release: string; before: string },
): DeployCommand {
  return lockingCommand(base, attempt, REVERT, {
    GANTRY_RELEASE: assertReleaseName(release),
    GANTRY_BEFORE: assertReleaseName(before),
  })
}
