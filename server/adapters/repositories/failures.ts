import { createMask } from '#platform/masking/mask.ts'
import type { Remote } from './address.ts'

// Why a fetch failed, in words for people. Git's own words are shown only where there are no better ones, and then
// without secrets.

/** The same for people who set up a repository, and as the API names it. */
export type FetchProblem =
  | 'not_found'
  | 'authentication'
  | 'unreachable'
  | 'timeout'
  | 'host_key'
  | 'certificate'
  | 'moved'
  | 'unsafe'
  | 'too_large'
  | 'storage'
  | 'other'

export type FetchFailure = {
  /**
   * absent: there is no such repository. refused: no access, now or later. unreachable: a retry may succeed.
   * moved: the host redirects. disk: the problem is on our side. hashes: the repository uses another algorithm
   * than the mirror. unknown: anything else, possibly a broken mirror.
   */
  kind: 'absent' | 'refused' | 'unreachable' | 'moved' | 'disk' | 'hashes' | 'unknown'
  problem: FetchProblem
  message: string
}

export type FetchContext = {
  remote: Remote
  hasCredential: boolean
  /** Texts that no message may contain, in any encoding: secrets, folders of Gantry. */
  hidden: string[]
}

export function explainFetch(output: string, context: FetchContext): FetchFailure {
  const errors = output
    .split(/[\r\n]+/)
    .filter((line) => !line.startsWith('remote:')) // the host's own words, which may be anything
    .join('\n')
  const { remote, hasCredential, hidden } = context
  const host = remote.host ?? 'This machine'
  const says = (sign: RegExp) => sign.test(errors)
  const disk = (message: string) => ({ kind: 'disk', problem: 'storage', message }) as const
  const refused = (message: string, problem: FetchProblem = 'authentication') =>
    ({ kind: 'refused', problem, message }) as const
  const unreachable = (message: string, problem: FetchProblem = 'unreachable') =>
    ({ kind: 'unreachable', problem, message }) as const

  // What git, curl and ssh print in English. The first that matches counts.
  if (says(/No space left on device|Disk quota exceeded/))
    return disk('No space is left for the mirror of the repository.')
  if (says(/Read-only file system|insufficient permission for adding an object/))
    return disk('The mirror of the repository is not writable.')
  if (says(/mismatched algorithms/))
    return {
      kind: 'hashes',
      problem: 'other',
      message: 'The repository uses a hash algorithm that is not supported.',
    }
  if (says(/returned error: 30\d/)) {
    const message = `${host} says that the repository moved from ${remote.address}: enter its new URL.`
    return { kind: 'moved', problem: 'moved', message }
  }
  if (says(/terminal prompts disabled|Authentication failed|returned error: 40[17]/))
    return hasCredential
      ? refused(`${host} does not accept the credential of this application.`)
      : refused(`The repository does not exist on ${host}, or requires a credential.`)
  if (says(/returned error: 403/))
    return refused(`${host} does not allow this application to read the repository.`)
  if (says(/returned error: (429|5\d\d)/)) return unreachable(`${host} is unavailable right now.`)
  if (says(/HOST IDENTIFICATION HAS CHANGED|Host key verification failed/))
    return refused(
      `The host key of ${host} has changed since the first connection: nothing was fetched.`,
      'host_key',
    )
  if (says(/^Load key /m))
    return refused(
      'The SSH key of the credential cannot be read: it must be a private key without a passphrase.',
    )
  if (says(/Permission denied \(|Too many authentication failures/))
    return hasCredential
      ? refused(`${host} does not accept the SSH key of this application.`)
      : refused(`${host} requires an SSH key, and this application has none.`)
  if (says(ABSENT)) {
    const hint = hasCredential ? ', or the credential has no access to it' : ''
    return {
      kind: 'absent',
      problem: 'not_found',
      message: `There is no repository at ${remote.address}${hint}.`,
    }
  }
  if (says(/Could not resolve host|Name or service not known|failure in name resolution/i))
    return unreachable(`The name ${host} could not be resolved.`)
  if (says(/Operation too slow|timed out|not responding/i))
    return unreachable(`${host} does not answer.`, 'timeout')
  if (says(/Connection refused|Failed to connect|No route to host|Network is unreachable/i))
    return unreachable(`${host} does not accept connections.`)
  if (says(/certificate|gnutls_handshake|SSL_/i))
    return refused(
      `No secure connection to ${host}: its certificate or its encryption is not accepted.`,
      'certificate',
    )
  if (says(/cannot run ssh|ssh: not found/))
    return refused('ssh is not installed on the machine that runs Gantry.', 'other')
  if (says(/fsck error/))
    return refused(`Git considers the repository unsafe or corrupt: ${lastError(errors, hidden)}`, 'unsafe')
  if (says(/Connection (reset|closed)|Empty reply|early EOF|unexpected disconnect|RPC failed|hung up/))
    return unreachable(`${host} closed the connection before everything had arrived.`)
  const message = `The repository could not be fetched: ${lastError(errors, hidden)}`
  return { kind: 'unknown', problem: 'other', message }
}

/** The same for git that has limits of memory and disk. */
export function explainLimited(output: string, context: FetchContext): FetchFailure {
  const failure = explainFetch(output, context)
  return failure.kind === 'unknown' && AT_LIMIT.test(output) ? TOO_LARGE : failure
}

/** How git ends at a limit. */
const AT_LIMIT = /invalid index-pack output|index-pack died|File too large|out of memory|mmap failed/i

const TOO_LARGE: FetchFailure = {
  kind: 'refused',
  problem: 'too_large',
  message: 'The repository is too large to inspect, and its host does not serve parts of it.',
}

const ABSENT =
  /repository '.*' not found|Repository not found|returned error: 4(04|10)|does not appear to be a git repository|is this a git repository/i

/** The last error, in one line, without secrets. */
function lastError(errors: string, hidden: string[]): string {
  const lines = errors.split('\n').map((line) => line.trim())
  const last =
    lines.find((line) => /^error: object [0-9a-f]+: /.test(line)) ??
    lines.findLast((line) => /^(fatal|error): /.test(line)) ??
    lines.findLast((line) => line !== '')
  if (last === undefined) return 'git did not report a reason.'
  const shown = createMask(hidden).text(last.replace(/^(fatal|error): /, ''))
  return shown.replace(/\p{C}+/gu, ' ').slice(0, 300)
}

/** Errors of this machine's file system, and of SQLite on it. Undefined for anything else. */
export function explainDisk(error: unknown): string | undefined {
  const { code = '', errcode } = error as { code?: string; errcode?: number }
  if (NO_SPACE.includes(code) || errcode === SQLITE_FULL) return 'No space is left for mirrors.'
  if (UNUSABLE.includes(code)) return `The mirrors folder is not usable (${code}).`
  return errcode === undefined ? undefined : 'The mirrors folder is not usable.'
}

const SQLITE_FULL = 13
const NO_SPACE = ['ENOSPC', 'EDQUOT']
const UNUSABLE = ['EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'EEXIST', 'EIO', 'EMFILE', 'ENFILE', 'ELOOP']
