import type { Remote } from './address.ts'

// Why a fetch failed, in words for people. Pure. Git's own words are shown only where no better ones are known,
// and then without what should not be seen.

export type FetchFailure = {
  /**
   * absent: there is no such repository. refused: it may not be read, now or later. unreachable: another time it
   * may be. moved: the host redirects. disk: the fault is on our side. hashes: the repository counts in others
   * than the mirror. unknown: anything else, which may be the mirror's own fault.
   */
  kind: 'absent' | 'refused' | 'unreachable' | 'moved' | 'disk' | 'hashes' | 'unknown'
  message: string
}

export type FetchContext = {
  remote: Remote
  hasCredential: boolean
  /** Texts that no message may show: secrets, folders of Gantry. */
  hidden: string[]
}

type Reason = keyof typeof KINDS

const KINDS = {
  'no-space': 'disk',
  'not-writable': 'disk',
  'other-hashes': 'hashes',
  redirected: 'moved',
  'not-known': 'refused',
  forbidden: 'refused',
  'host-key': 'refused',
  'bad-key': 'refused',
  'key-refused': 'refused',
  'no-ssh': 'refused',
  tls: 'refused',
  absent: 'absent',
  overloaded: 'unreachable',
  'no-such-host': 'unreachable',
  silent: 'unreachable',
  closed: 'unreachable',
  cut: 'unreachable',
  unsafe: 'refused',
  unknown: 'unknown',
} as const satisfies Record<string, FetchFailure['kind']>

/** What git, curl and ssh say in English. The first that fits counts. */
const SIGNS: [RegExp, Reason][] = [
  [/No space left on device|Disk quota exceeded/, 'no-space'],
  [/Read-only file system|insufficient permission for adding an object/, 'not-writable'],
  [/mismatched algorithms/, 'other-hashes'],
  [/returned error: 30\d/, 'redirected'],
  [/terminal prompts disabled|Authentication failed|returned error: 40[17]/, 'not-known'],
  [/returned error: 403/, 'forbidden'],
  [/returned error: (429|5\d\d)/, 'overloaded'],
  [/HOST IDENTIFICATION HAS CHANGED|Host key verification failed/, 'host-key'],
  [/^Load key /m, 'bad-key'],
  [/Permission denied \(|Too many authentication failures/, 'key-refused'],
  [/repository '.*' not found|Repository not found|returned error: 4(04|10)/i, 'absent'],
  [/does not appear to be a git repository|is this a git repository/, 'absent'],
  [/Could not resolve host|Name or service not known|failure in name resolution/i, 'no-such-host'],
  [/Operation too slow|timed out|not responding/i, 'silent'],
  [/Connection refused|Failed to connect|No route to host|Network is unreachable/i, 'closed'],
  [/certificate|gnutls_handshake|SSL_/i, 'tls'],
  [/cannot run ssh|ssh: not found/, 'no-ssh'],
  [/fsck error/, 'unsafe'],
  [/Connection (reset|closed)|Empty reply|early EOF|unexpected disconnect|RPC failed|hung up/, 'cut'],
]

export function explainFetch(errors: string, context: FetchContext): FetchFailure {
  const said = errors
    .split(/[\r\n]+/)
    .filter((line) => !line.startsWith('remote:')) // the host's own words, which may be any
    .join('\n')
  const reason = SIGNS.find(([sign]) => sign.test(said))?.[1] ?? 'unknown'
  return { kind: KINDS[reason], message: sentence(reason, said, context) }
}

function sentence(reason: Reason, said: string, { remote, hasCredential, hidden }: FetchContext): string {
  const host = remote.host ?? 'This machine'
  switch (reason) {
    case 'no-space':
      return 'There is no space left for the mirror of the repository.'
    case 'not-writable':
      return 'The mirror of the repository cannot be written.'
    case 'other-hashes':
      return 'The repository uses a kind of hashes that cannot be fetched.'
    case 'redirected':
      return `${host} says that the repository has moved away from ${remote.address}: give its new address.`
    case 'not-known':
      return hasCredential
        ? `${host} does not accept the credential of this application.`
        : `${host} shows the repository to nobody without a credential, or does not have it.`
    case 'forbidden':
      return `${host} does not allow this application to read the repository.`
    case 'host-key':
      return `The host key of ${host} is not the one that it had at first contact: nothing was fetched.`
    case 'bad-key':
      return 'The SSH key of the credential cannot be read: it must be a private key without a passphrase.'
    case 'key-refused':
      return hasCredential
        ? `${host} does not accept the SSH key of this application.`
        : `${host} asks for an SSH key, and this application has none.`
    case 'no-ssh':
      return 'The machine that runs Gantry has no ssh.'
    case 'tls':
      return `There is no safe connection to ${host}: its certificate or its encryption is not accepted.`
    case 'absent':
      return `There is no repository at ${remote.address}${hasCredential ? ', or the credential may not see it' : ''}.`
    case 'overloaded':
      return `${host} cannot answer at the moment.`
    case 'no-such-host':
      return `No host is known by the name ${host}.`
    case 'silent':
      return `${host} does not answer.`
    case 'closed':
      return `${host} takes no connection.`
    case 'cut':
      return `${host} ended the connection before everything had arrived.`
    case 'unsafe':
      return `Git finds the repository unsafe or damaged: ${lastWords(said, hidden)}`
    case 'unknown':
      return `The repository could not be fetched: ${lastWords(said, hidden)}`
  }
}

/** The last complaint, in one line, with nothing in it that is not for people. */
function lastWords(said: string, hidden: string[]): string {
  const lines = said.split('\n').map((line) => line.trim())
  const last =
    lines.find((line) => /^error: object [0-9a-f]+: /.test(line)) ??
    lines.findLast((line) => /^(fatal|error): /.test(line)) ??
    lines.findLast((line) => line !== '')
  if (last === undefined) return 'git did not say why.'
  const shown = hidden
    .filter((text) => text !== '')
    .reduce((line, text) => line.replaceAll(text, '********'), last.replace(/^(fatal|error): /, ''))
  return shown.replace(/\p{C}+/gu, ' ').slice(0, 300)
}

/** Faults of this machine's file system, and of SQLite on it. Undefined for anything else. */
export function explainDisk(error: unknown): string | undefined {
  const { code = '', errcode } = error as { code?: string; errcode?: number }
  if (NO_SPACE.includes(code) || errcode === SQLITE_FULL) return 'There is no space left for mirrors.'
  if (UNUSABLE.includes(code)) return `The folder of mirrors cannot be used (${code}).`
  return errcode === undefined ? undefined : 'The folder of mirrors cannot be used.'
}

const SQLITE_FULL = 13
const NO_SPACE = ['ENOSPC', 'EDQUOT']
const UNUSABLE = ['EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'EEXIST', 'EIO', 'EMFILE', 'ENFILE', 'ELOOP']
