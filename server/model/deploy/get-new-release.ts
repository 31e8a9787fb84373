import { readScript } from '#platform/scripts.ts'
import { assertReleaseName, type DeployCommand } from './layout.ts'
import type { SharedPath } from './shared-paths.ts'
import { type Attempt, lockingCommand } from './shell.ts'

const TAKE_LOCK = readScript('./take-lock.sh', import.meta.url)
const EXTRACT = readScript('./extract-release.sh', import.meta.url)
const FINISH = readScript('./finish-release.sh', import.meta.url)

/**
 * Step 2 and rollbacks begin with this: from now on only this attempt may switch `current`. Fails with `LOCK_LOST`
 * when a later attempt of the same run was here first. Removes what earlier attempts began to unpack: none of them
 * can finish it any more.
 */
export function takeLock(base: string, attempt: Attempt): DeployCommand {
  return lockingCommand(base, attempt, TAKE_LOCK)
}

/**
 * Unpacks a tar from its standard input, next to the other releases and under another name. To tar, an archive that
 * was cut between two files looks complete: call `finishRelease` only after the whole archive was sent.
 */
export function extractRelease(base: string, attempt: Attempt, release: string): DeployCommand {
  return lockingCommand(base, attempt, EXTRACT, { GANTRY_RELEASE: assertReleaseName(release) })
}

/**
 * Links the shared paths into what was unpacked, and turns it into a release.
 *
 * A release may contain links of any kind, and so may what was copied from one into `shared`. No link is ever
 * followed out of either: parents are entered one by one, and the result is checked; a link at the location of a
 * shared path is replaced and never copied; links deeper inside are copied as links.
 */
export function finishRelease(
  base: string,
  attempt: Attempt,
  release: string,
  sharedPaths: readonly SharedPath[],
): DeployCommand {
  return lockingCommand(base, attempt, FINISH, {
    GANTRY_RELEASE: assertReleaseName(release),
    GANTRY_SHARED_PATHS: sharedPaths.map(({ kind, path }) => `${kind} ${path}`).join('\n'),
  })
}
