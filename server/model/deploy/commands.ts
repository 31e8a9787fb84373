// What the built-in steps run on a server: each script with its values, as a command, and how its output is read. What the
// scripts share is in prelude.sh and lock.sh.
import { readScript } from '#platform/scripts.ts'
import { assertReleaseName, type DeployCommand, isReleaseName } from './layout.ts'
import type { SharedPath } from './shared-paths.ts'

const scriptOf = (name: string) => readScript(`./${name}.sh`, import.meta.url)
const CHECK = scriptOf('check-app-environment')
const DEMAND_SPACE = scriptOf('demand-space')
const TAKE_LOCK = scriptOf('take-lock')
const EXTRACT = scriptOf('extract-release')
const FINISH = scriptOf('finish-release')
const ACTIVATE = scriptOf('activate-new-release')
const REVERT = scriptOf('revert-release')
const SETTLE = scriptOf('settle-release')
const READ_LIVE = scriptOf('read-live')
const LIST = scriptOf('list-releases')
const REMOVE = scriptOf('remove-releases')
const MEASURE = scriptOf('measure-releases')

/**
 * Identifies a deploy. `run` is one target of one action: the same in all its attempts, and never used by another
 * run, not even of another Gantry that deploys to the same folder. `number` grows with each attempt.
 */
export type Attempt = { run: string; number: number }

/** The exit code of a command that finds that another attempt holds the lock: see lock.sh. */
export const LOCK_LOST = 75

// Commands hold the lock only for a moment, so this is plenty even on a very slow machine.
const LOCK_SECONDS = 60

/** A script that needs no lock. */
function plainCommand(base: string, script: string, values: Record<string, string> = {}): DeployCommand {
  return { command: script, environment: { GANTRY_BASE: base, ...values } }
}

/** A script with lock.sh. */
function lockingCommand(
  base: string,
  { run, number }: Attempt,
  script: string,
  values: Record<string, string> = {},
): DeployCommand {
  if (!/^[A-Za-z0-9._-]{1,100}$/.test(run))
    throw new Error('A run id consists of letters, digits, ".", "_" and "-".')
  if (!Number.isInteger(number) || number < 0 || number > 999_999_999)
    throw new Error('Attempts are numbered from 0 to 999999999.')
  return plainCommand(base, script, {
    GANTRY_RUN: run,
    GANTRY_ATTEMPT: String(number),
    GANTRY_LOCK_SECONDS: String(LOCK_SECONDS),
    ...values,
  })
}

/** What a new release may take. */
const MIN_FREE_MIB = 100

/** For a script with `demand_space`. */
const leastFree = (minFreeMiB = MIN_FREE_MIB) => ({ GANTRY_LEAST_FREE_MIB: String(minFreeMiB) })

/**
 * Step 1: creates the folders of the application, finds out early what would fail later, and prints a few facts.
 * Every error is one line that says what to do. Its last line is for `parseLive`.
 */
export function checkAppEnvironment(
  base: string,
  { minFreeMiB }: { minFreeMiB?: number } = {},
): DeployCommand {
  return plainCommand(base, CHECK, leastFree(minFreeMiB))
}

/** Before a rollback fetches a release: its check of the server demands no space. */
export function demandSpace(base: string): DeployCommand {
  return plainCommand(base, DEMAND_SPACE, leastFree())
}

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

/** Steps 3 and 4 are commands of the application, to be run in the folder of the release. */
export type ApplicationCommand = { kind: 'command'; command: string } | { kind: 'nothing'; line: string }

const ABSENT = {
  'install-dependencies': 'This application has no install command: nothing to do.',
  'build-application': 'This application has no build command: nothing to do.',
}

/** A multi-line command ends at the first line that fails: a partial build must not go live. */
export function applicationCommand(step: keyof typeof ABSENT, command: string | null): ApplicationCommand {
  if (command === null || command.trim() === '') return { kind: 'nothing', line: ABSENT[step] }
  return { kind: 'command', command: `set -e; ${command}` }
}

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

/** Its output is for `readReleases`, not for people. */
export function listReleases(base: string): DeployCommand {
  return plainCommand(base, LIST)
}

// An environment variable holds at most 128 KiB; the next deploy removes the rest.
const MAX_REMOVED = 1_000

/**
 * Removes releases, except the one that is live by then. Does nothing, successfully, when another deploy has taken
 * the lock in the meantime: that one will remove them, and may be about to roll back to one.
 */
export function removeReleases(base: string, attempt: Attempt, names: readonly string[]): DeployCommand {
  const some = names.slice(0, MAX_REMOVED).map(assertReleaseName)
  return lockingCommand(base, attempt, REMOVE, { GANTRY_RELEASES: some.join(' ') })
}

/** Those that are left wait for the next deploy. */
const MAX_MEASURED = 5
/** Of one release. Folders with millions of files stay unmeasured. */
const MEASURE_SECONDS = 5

/** No longer than this, whatever the disk is like. */
export const MEASURE_MS = (MAX_MEASURED * MEASURE_SECONDS + 5) * 1_000

/** How much of the disk releases take; what is shared is not counted. Its output is for `readSizes`. */
export function measureReleases(base: string, names: readonly string[]): DeployCommand {
  const some = names.slice(0, MAX_MEASURED).map(assertReleaseName)
  const values = { GANTRY_RELEASES: some.join(' '), GANTRY_MEASURE_SECONDS: String(MEASURE_SECONDS) }
  return plainCommand(base, MEASURE, values)
}

/** In bytes, by name; without those that could not be measured. */
export function readSizes(output: string): Map<string, number> {
  const sizes = new Map<string, number>()
  for (const line of output.split('\n')) {
    const [word, name = '', bytes = '', ...rest] = line.split(' ')
    const isOurs = word === 'gantry-size' && rest.length === 0 && isReleaseName(name)
    if (isOurs && /^\d{1,15}$/.test(bytes)) sizes.set(name, Number(bytes))
  }
  return sizes
}
