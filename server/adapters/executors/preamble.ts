// How a command and its environment reach bash: on its standard input, ahead of the command's own input. So
// neither is visible in a process list, sshd cannot drop a variable, and a variable such as LD_PRELOAD takes no
// effect before the account has been switched.

import { readOneLiner } from '#platform/scripts.ts'
import { type CommandRequest, type Impossible, impossible } from './executor.ts'

export const BASH = '/bin/bash'
export const STANDARD_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/** Names the command that a process belongs to; every process that it starts inherits it. guard.sh searches for it. */
export const MARK_VARIABLE = 'GANTRY_COMMAND'

/** Printed by bootstrap.sh with its process id when it is ready: nothing else reads what is sent from now on. */
export const START_WORD = 'gantry-bash-is-ready'

/** What bash is started with, the same for all commands. A login shell of any kind must pass it on in single quotes. */
export const BOOTSTRAP = readOneLiner('./bootstrap.sh', import.meta.url)

/** Without `--norc` bash runs ~/.bashrc when its input is a socket, and that could read the preamble. */
export const BASH_OPTIONS = ['--norc', '-c', BOOTSTRAP, 'bash']

const COMMAND_LIMIT_BYTES = 64 * 1024
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/
// Read-only in bash.
const READ_ONLY = new Set(['BASHOPTS', 'BASH_VERSINFO', 'EUID', 'PPID', 'SHELLOPTS', 'UID'])

type Script = Pick<CommandRequest, 'command' | 'environment' | 'workingFolder' | 'input'>

/** Why bash could not take this request; undefined when it can. */
export function whyImpossible({ command, environment, workingFolder }: Script): Impossible | undefined {
  if (Buffer.byteLength(command) > COMMAND_LIMIT_BYTES) return impossible('the command is longer than 64 KiB')
  if (command.includes('\0')) return impossible('the command contains a NUL character')
  if (workingFolder !== null && (!workingFolder.startsWith('/') || workingFolder.includes('\0')))
    return impossible('the working folder must be an absolute path')
  for (const [name, value] of Object.entries(environment)) {
    if (!NAME.test(name) || READ_ONLY.has(name) || name === MARK_VARIABLE)
      return impossible(`a variable cannot be named ${JSON.stringify(name.slice(0, 80))}`)
    if (value.includes('\0')) return impossible(`the variable ${name} contains a NUL character`)
  }
}

/** The bytes ahead of the command's own input. Must not be sent before bash is ready. */
export function buildPreamble(request: Script): string {
  const text = buildScript(request)
  return `${text.length}\n${text}\n`
}

/** One line of plain ASCII, which bash evaluates. */
export function buildScript({ command, environment, workingFolder, input }: Script): string {
  const variables = Object.entries(environment).map(([name, value]) => ` ${name}=${quote(value)}`)
  return [
    `exec 2>&1${input ? '' : ' </dev/null'}; unset __n __t __u`,
    workingFolder === null ? 'cd 2>/dev/null || cd /' : `cd -- ${quote(workingFolder)} || exit 1`,
    // Not before `cd`, which would use CDPATH.
    variables.length === 0 ? ':' : `export${variables.join('')}`,
    // Last and alone: in a list, or followed by anything, `set -e` and the exit code would not work.
    `eval -- ${quote(command)}`,
  ].join('; ')
}

/**
 * A word of bash. One line of plain ASCII whatever the value, so that neither the locale of the target nor a
 * newline in a value can shift what follows, and error messages carry the line numbers of the command's text.
 */
export function quote(value: string): string {
  const bytes = Buffer.from(value, 'utf8').toString('latin1')
  const escaped = bytes.replace(
    /[^ -~]|['\\]/g,
    (byte) => `\\x${byte.charCodeAt(0).toString(16).padStart(2, '0')}`,
  )
  return `$'${escaped}'`
}
