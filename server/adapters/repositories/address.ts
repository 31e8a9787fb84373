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
  const url = URL.parse(text)
  if (!match || !url) return refused(INVALID)
  if (match[2])
    return refused('The repository address contains a password: store it in a credential instead.')
  if (hasControls(url.pathname) || hasControls(url.username)) return refused(INVALID)
  if (url.pathname === '/') return refused(NO_PATH)
  const username = match[1] ? decodeURIComponent(url.username) : null
  url.username = ''
  const protocol = url.protocol === 'https:' ? 'https' : 'http'
  const port = Number(url.port || (protocol === 'https' ? 443 : 80))
  return found({ protocol, host: bare(url.hostname), port, username, path: url.pathname, address: url.href })
}

function readSshUrl(text: string): ReadAddress {
  const [, username = null, host, digits = '22', path] = SSH_URL.exec(text) ?? []
  const port = Number(digits)
  if (!host || !path || port < 1 || port > 65_535 || hasControls(path)) return refused(INVALID)
  if (path === '/') return refused(NO_PATH)
  return found({ protocol: 'ssh', host: bare(host), port, username, path, address: `ssh${text.slice(3)}` })
}

function readSshShort(text: string): ReadAddress {
  const [, username = null, host, path = ''] = SSH_SHORT.exec(text) ?? []
  if (!host) return refused(UNSUPPORTED)
  if (path.replaceAll('/', '') === '') return refused(NO_PATH)
  return found({ protocol: 'ssh', host: bare(host), port: 22, username, path, address: text })
}

function readFile(text: string): ReadAddress {
  const url = URL.parse(text)
  if (!url || !/^file:\/\/\//i.test(text)) return refused(INVALID)
  const { search, hash, pathname: path, href: address } = url
  if (search !== '' || hash !== '' || hasControls(path)) return refused(INVALID)
  if (path === '/') return refused(NO_PATH)
  return found({ protocol: 'file', host: null, port: null, username: null, path, address })
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

const bare = (host: string) => host.toLowerCase().replace(/^\[|\]$/g, '')
const found = (remote: Remote): ReadAddress => ({ kind: 'remote', remote })
const refused = (message: string): ReadAddress => ({ kind: 'refused', message })

/** A host as URLs have it: an IPv6 address in brackets. */
export const inBrackets = (host: string) => (host.includes(':') ? `[${host}]` : host)
