import type { Remote } from './address.ts'

// Why a fetch failed, in words for people. Git's own words are shown only where there are no better ones, and then
// without secrets.

export type FetchFailure = {
  /**
   * absent: there is no such repository. refused: no access, now or later. unreachable: a retry may succeed.
   * moved: the host redirects. disk: the problem is on our side. hashes: the repository uses another algorithm
   * than the mirror. unknown: anything else, possibly a broken mirror.
   */
  kind: 'absent' | 'refused' | 'unreachable' | 'moved' | 'disk' | 'hashes' | 'unknown'
  message: string
}

export type FetchContext = {
  remote: Remote
  hasCredential: boolean
  /** Texts that no message may contain: secrets, folders of Gantry. */
  hidden: string[]
}

type Message = (context: FetchContext & { host: string; errors: string }) => string

/** What git, curl and ssh print in English. The first that matches counts. */
const FAILURES: [RegExp, FetchFailure['kind'], Message][] = [
  [
    /No space left on device|Disk quota exceeded/,
    'disk',
    () => 'No space is left for the mirror of the repository.',
  ],
  [
    /Read-only file system|insufficient permission for adding an object/,
    'disk',
    () => 'The mirror of the repository is not writable.',
  ],
  [/mismatched algorithms/, 'hashes', () => 'The repository uses a hash algorithm that is not supported.'],
  [
    /returned error: 30\d/,
    'moved',
    ({ host, remote }) => `${host} says that the repository moved from ${remote.address}: enter its new URL.`,
  ],
  [
    /terminal prompts disabled|Authentication failed|returned error: 40[17]/,
    'refused',
    ({ host, hasCredential }) =>
      hasCredential
        ? `${host} does not accept the credential of this application.`
        : `The repository does not exist on ${host}, or requires a credential.`,
  ],
  [
    /returned error: 403/,
    'refused',
    ({ host }) => `${host} does not allow this application to read the repository.`,
  ],
  [/returned error: (429|5\d\d)/, 'unreachable', ({ host }) => `${host} is unavailable right now.`],
  [
    /HOST IDENTIFICATION HAS CHANGED|Host key verification failed/,
    'refused',
    ({ host }) => `The host key of ${host} has changed since the first connection: nothing was fetched.`,
  ],
  [
    /^Load key /m,
    'refused',
    () => 'The SSH key of the credential cannot be read: it must be a private key without a passphrase.',
  ],
  [
    /Permission denied \(|Too many authentication failures/,
    'refused',
    ({ host, hasCredential }) =>
      hasCredential
        ? `${host} does not accept the SSH key of this application.`
        : `${host} requires an SSH key, and this application has none.`,
  ],
  [
    /repository '.*' not found|Repository not found|returned error: 4(04|10)|does not appear to be a git repository|is this a git repository/i,
    'absent',
    ({ remote, hasCredential }) =>
      `There is no repository at ${remote.address}${hasCredential ? ', or the credential has no access to it' : ''}.`,
  ],
  [
    /Could not resolve host|Name or service not known|failure in name resolution/i,
    'unreachable',
    ({ host }) => `The name ${host} could not be resolved.`,
  ],
  [/Operation too slow|timed out|not responding/i, 'unreachable', ({ host }) => `${host} does not answer.`],
  [
    /Connection refused|Failed to connect|No route to host|Network is unreachable/i,
    'unreachable',
    ({ host }) => `${host} does not accept connections.`,
  ],
  [
    /certificate|gnutls_handshake|SSL_/i,
    'refused',
    ({ host }) => `No secure connection to ${host}: its certificate or its encryption is not accepted.`,
  ],
  [/cannot run ssh|ssh: not found/, 'refused', () => 'ssh is not installed on the machine that runs Gantry.'],
  [
    /fsck error/,
    'refused',
    ({ errors, hidden }) => `Git considers the repository unsafe or corrupt: ${lastError(errors, hidden)}`,
  ],
  [
    /Connection (reset|closed)|Empty reply|early EOF|unexpected disconnect|RPC failed|hung up/,
    'unreachable',
    ({ host }) => `${host} closed the connection before everything had arrived.`,
  ],
  [
    /(?:)/,
    'unknown',
    ({ errors, hidden }) => `The repository could not be fetched: ${lastError(errors, hidden)}`,
  ],
]

export function explainFetch(output: string, context: FetchContext): FetchFailure {
  const errors = output
    .split(/[\r\n]+/)
    .filter((line) => !line.startsWith('remote:')) // the host's own words, which may be anything
    .join('\n')
  const [, kind, message] = FAILURES.find(([sign]) => sign.test(errors))!
  return { kind, message: message({ ...context, host: context.remote.host ?? 'This machine', errors }) }
}

/** The last error, in one line, without secrets. */
function lastError(errors: string, hidden: string[]): string {
  const lines = errors.split('\n').map((line) => line.trim())
  const last =
    lines.find((line) => /^error: object [0-9a-f]+: /.test(line)) ??
    lines.findLast((line) => /^(fatal|error): /.test(line)) ??
    lines.findLast((line) => line !== '')
  if (last === undefined) return 'git did not report a reason.'
  const shown = hidden
    .filter((text) => text !== '')
    .reduce((line, text) => line.replaceAll(text, '********'), last.replace(/^(fatal|error): /, ''))
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
