// Where a repository is. Addresses come from people and go to git and ssh: only forms that both parse the same way
// pass, and git receives the address as parsed here, never the text itself.

export type Remote = {
  protocol: 'https' | 'http' | 'ssh' | 'file'
  /** Lower case, an IPv6 address without its brackets; null for `file`. */
  host: string | null
  port: number | null
  /** The account in the address, such as `git`. */
  username: string | null
  /** As written in the address: percent-encoded, except in the form `git@host:path`. */
  path: string
  /** For git and for people. Never contains a secret. */
  address: string
}

/** What the credential says about the host, for addresses like `acme/shop`. */
export type Provider = { code: string; baseUrl?: string | null }

export type ReadAddress = { kind: 'remote'; remote: Remote } | { kind: 'refused'; message: string }

const MAX_LENGTH = 2_048
const HOST = String.raw`[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?\.?|\[[0-9a-f:.]+\]`
const USER = '[a-z0-9_][a-z0-9._-]*'
const PATH = '[a-z0-9._~%+,=:@/ -]*'
const SSH_URL = new RegExp(`^ssh://(?:(${USER})@)?(${HOST})(?::([0-9]{1,5}))?(/${PATH})$`, 'i')
const SSH_SHORT = new RegExp(`^(?:(${USER})@)?(${HOST}):((?!-)${PATH})$`, 'i')
const WEB = new RegExp(
  String.raw`^https?://(?:([\w.~%+-]*)(:[^@/\\]*)?@)?(?:${HOST})(?::[0-9]{1,5})?(?:/${PATH})?$`,
  'i',
)
const SHORTHAND = /^[\w.-]+(?:\/[\w.-]+)+$/

/** The public hosts, unless a credential has a base URL. */
export const PUBLIC_HOSTS: Readonly<Record<string, string>> = {
  github: 'https://github.com',
  gitlab: 'https://gitlab.com',
  bitbucket: 'https://bitbucket.org',
}

export function readAddress(repository: string, provider: Provider | null = null): ReadAddress {
  const text = repository.trim()
  if (text === '') return refused('The application has no repository address.')
  if (text.length > MAX_LENGTH) return refused('The repository address is too long.')
  if (/^https?:/i.test(text)) return readWeb(text)
  if (/^ssh:/i.test(text)) return readSshUrl(text)
  if (/^file:/i.test(text)) return readFile(text)
  // `ext::…` and the like are programs that git would start.
  if (/^[a-z0-9+.-]*:(:|\/\/)/i.test(text)) return refused(UNSUPPORTED)
  if (text.includes(':')) return readSshShort(text)
  return readShorthand(text, provider)
}

const UNSUPPORTED =
  'The repository address is not supported: use one that begins with https://, http://, ssh:// or file://, ' +
  'or one like git@host:owner/name.git.'
const INVALID = 'The repository address is not valid.'
const NO_PATH = 'The repository address has a host but no repository.'

function readWeb(text: string): ReadAddress {
  const match = WEB.exec(text)
  if (!match || !URL.canParse(text)) return refused(INVALID)
  if (match[2]) {
    return refused('The repository address contains a password: store it in a credential instead.')
  }
  const url = new URL(text)
  if (hasControls(url.pathname) || hasControls(url.username)) return refused(INVALID)
  if (url.pathname === '/') return refused(NO_PATH)
  const username = match[1] ? decodeURIComponent(url.username) : null
  url.username = ''
  const protocol = url.protocol === 'https:' ? 'https' : 'http'
  return found({
    protocol,
    host: bare(url.hostname),
    port: url.port === '' ? (protocol === 'https' ? 443 : 80) : Number(url.port),
    username,
    path: url.pathname,
    address: url.href,
  })
}

function readSshUrl(text: string): ReadAddress {
  const match = SSH_URL.exec(text)
  const port = match?.[3] === undefined ? 22 : Number(match[3])
  if (!match || port < 1 || port > 65_535 || hasControls(match[4]!)) return refused(INVALID)
  if (match[4] === '/') return refused(NO_PATH)
  return found({
    protocol: 'ssh',
    host: bare(match[2]!),
    port,
    username: match[1] ?? null,
    path: match[4]!,
    address: `ssh${text.slice(3)}`,
  })
}

function readSshShort(text: string): ReadAddress {
  const match = SSH_SHORT.exec(text)
  if (!match) return refused(UNSUPPORTED)
  if (match[3]!.replaceAll('/', '') === '') return refused(NO_PATH)
  return found({
    protocol: 'ssh',
    host: bare(match[2]!),
    port: 22,
    username: match[1] ?? null,
    path: match[3]!,
    address: text,
  })
}

function readFile(text: string): ReadAddress {
  if (!/^file:\/\/\//i.test(text) || !URL.canParse(text)) return refused(INVALID)
  const url = new URL(text)
  if (url.search !== '' || url.hash !== '' || hasControls(url.pathname)) return refused(INVALID)
  if (url.pathname === '/') return refused(NO_PATH)
  return found({
    protocol: 'file',
    host: null,
    port: null,
    username: null,
    path: url.pathname,
    address: url.href,
  })
}

function readShorthand(text: string, provider: Provider | null): ReadAddress {
  const base = provider && (provider.baseUrl ?? PUBLIC_HOSTS[provider.code])
  if (!base || !SHORTHAND.test(text) || text.split('/').some((part) => /^\.{1,2}$/.test(part))) {
    return refused(UNSUPPORTED)
  }
  return readWeb(`${base.replace(/\/+$/, '')}/${text.replace(/\.git$/, '')}.git`)
}

/** Percent-encoded ones too: git decodes paths before it uses them. */
function hasControls(path: string): boolean {
  try {
    return /[\0-\x1f\x7f]/.test(decodeURIComponent(path))
  } catch {
    return true
  }
}

function bare(host: string): string {
  return host.toLowerCase().replace(/^\[|\]$/g, '')
}

function found(remote: Remote): ReadAddress {
  return { kind: 'remote', remote }
}

function refused(message: string): ReadAddress {
  return { kind: 'refused', message }
}
