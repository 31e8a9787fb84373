// What the commands share: their environment. What their scripts share is in prelude.sh and lock.sh.

import type { DeployCommand } from './layout.ts'

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
export function plainCommand(
  base: string,
  script: string,
  values: Record<string, string> = {},
): DeployCommand {
  return { command: script, environment: { GANTRY_BASE: base, ...values } }
}

/** A script with lock.sh. */
export function lockingCommand(
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
