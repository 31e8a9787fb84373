import { once } from 'node:events'
import { access, constants, mkdtempDisposable, writeFile } from 'node:fs/promises'
import { connect, isIP, type LookupFunction } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inBrackets, type Remote } from './address.ts'
import { removeStale } from './remove-stale.ts'

// How git authenticates to a remote. A token travels in the environment, which other accounts cannot read, as a
// header for this one origin: not in arguments, not in a URL, not in a file. ssh needs a key as a file; it is in
// memory where the system has a file system for that, and only while git runs.

export type Token = { username?: string | null; secret: string }

/** What an application has: a token for web hosts, or a key for SSH hosts. */
export type Login = { token: Token | null; sshKey: string | null }

export type Timeouts = {
  /** Until the host accepts the connection. */
  connectMs: number
  /** Until a silent connection is abandoned. */
  idleMs: number
  /** Everything, including waiting for other requests. */
  totalMs: number
}

export type AccessRequest = Login & {
  remote: Remote
  /** What the host's name resolved to. Git connects there, whatever the name resolves to by then. */
  addresses: string[]
  knownHosts: string
  timeouts: Timeouts
}

export type Access = Awaited<ReturnType<typeof prepareAccess>>

const MEMORY = '/dev/shm'
const KEY_FOLDER = 'gantry-key-'
/** No fetch takes this long. */
const STALE_MS = 24 * 60 * 60 * 1_000

/** Disposing of it removes the key. */
export async function prepareAccess(request: AccessRequest) {
  const { remote, sshKey } = request
  const environment: Record<string, string> = { GIT_ALLOW_PROTOCOL: remote.protocol }
  await using resources = new AsyncDisposableStack()
  if (remote.protocol === 'ssh') {
    const keyFile = sshKey === null ? null : await writeKey(sshKey, resources)
    environment.GIT_SSH_VARIANT = 'ssh'
    environment.GIT_SSH_COMMAND = sshCommand(request, keyFile)
  } else if (remote.protocol !== 'file') Object.assign(environment, webEnvironment(request))
  return Object.assign(resources.move(), { environment })
}

function webEnvironment({ remote, token, addresses, timeouts }: AccessRequest): Record<string, string> {
  const settings: [string, string][] = [['http.lowSpeedTime', seconds(timeouts.idleMs)]]
  if (token) {
    const header = `Authorization: ${authorizationOf(remote, token)}`
    settings.push([`http.${new URL(remote.address).origin}/.extraHeader`, header])
  }
  if (addresses.length > 0) {
    const found = addresses.map(inBrackets).join(',')
    settings.push(['http.curloptResolve', `${inBrackets(remote.host!)}:${remote.port}:${found}`])
  }
  return Object.fromEntries([
    ['GIT_CONFIG_COUNT', String(settings.length)],
    ...settings.flatMap(([key, value], index) => [
      [`GIT_CONFIG_KEY_${index}`, key],
      [`GIT_CONFIG_VALUE_${index}`, value],
    ]),
  ])
}

/** Hosts accept a token as the password, and most ignore the user name; Bitbucket does not. */
export function authorizationOf(remote: Remote, token: Token): string {
  const usual = remote.host === 'bitbucket.org' ? 'x-token-auth' : 'x-access-token'
  const username = token.username || remote.username || usual
  return `Basic ${Buffer.from(`${username}:${token.secret}`).toString('base64')}`
}

function sshCommand({ remote, addresses, knownHosts, timeouts }: AccessRequest, keyFile: string | null) {
  const options: [string, string][] = [
    ['IdentityFile', keyFile === null ? 'none' : quoteForSsh(keyFile)],
    ['IdentitiesOnly', 'yes'],
    ['IdentityAgent', 'none'],
    ['BatchMode', 'yes'],
    ['StrictHostKeyChecking', 'accept-new'],
    ['UserKnownHostsFile', quoteForSsh(knownHosts)],
    ['GlobalKnownHostsFile', '/dev/null'],
    ['ConnectTimeout', seconds(timeouts.connectMs)],
    ['ServerAliveInterval', seconds(timeouts.idleMs / 3)],
    ['ServerAliveCountMax', '3'],
  ]
  const [first] = addresses
  if (first !== undefined) options.push(['HostName', first], ['HostKeyAlias', remote.host!])
  // -F: ignore the settings of the machine and of the account.
  return ['ssh -F /dev/null', ...options.map((pair) => `-o ${quoteForShell(pair.join('='))}`)].join(' ')
}

/** In a new folder, which is removed with the other resources. */
async function writeKey(key: string, resources: AsyncDisposableStack): Promise<string> {
  const memory = await access(MEMORY, constants.W_OK | constants.X_OK).then(() => MEMORY, tmpdir)
  await removeStale(memory, { prefix: KEY_FOLDER, olderThanMs: STALE_MS, isShared: true })
  const folder = resources.use(await mkdtempDisposable(join(memory, KEY_FOLDER)))
  const file = join(folder.path, 'key')
  // OpenSSH rejects a key without a final newline, or with Windows line ends.
  await writeFile(file, `${key.replaceAll('\r\n', '\n').trim()}\n`, { mode: 0o600 })
  return file
}

/** A path in an ssh option, where spaces, quotes and percent signs are special. */
function quoteForSsh(path: string): string {
  return `"${path.replace(/["\\]/g, String.raw`\$&`).replaceAll('%', '%%')}"`
}

/** Git passes the command to a shell. */
function quoteForShell(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}

function seconds(ms: number): string {
  return String(Math.max(1, Math.ceil(ms / 1_000)))
}

/**
 * Whether a web host accepts connections at all. Git would wait for minutes for one that does not, and has no
 * setting for it (ssh has). Returns the problem, or undefined.
 */
export async function findConnectProblem(
  remote: Remote,
  options: { addresses: string[]; withinMs: number; signal: AbortSignal },
): Promise<string | undefined> {
  if (!remote.protocol.startsWith('http')) return undefined
  const { host, port } = remote as { host: string; port: number }
  const timeout = AbortSignal.timeout(options.withinMs)
  const signal = AbortSignal.any([options.signal, timeout])
  const found = options.addresses.map((address) => ({ address, family: isIP(address) }))
  const pinned: LookupFunction = (_host, _options, done) => done(null, found)
  // Only with autoSelectFamily, a lookup may return several addresses.
  const socket = connect({
    host,
    port,
    autoSelectFamily: true,
    lookup: found.length > 0 ? pinned : undefined,
  })
  try {
    await once(socket, 'connect', { signal })
    return undefined
  } catch (error) {
    options.signal.throwIfAborted()
    if (timeout.aborted) return `${host} does not answer.`
    const { code } = error as NodeJS.ErrnoException
    return code === 'ENOTFOUND' || code === 'EAI_AGAIN'
      ? `The name ${host} could not be resolved.`
      : `${host} does not accept connections.`
  } finally {
    socket.on('error', () => {}).destroy()
  }
}
