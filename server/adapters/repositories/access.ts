import { access, constants, lstat, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Remote } from './address.ts'

// How git gets into a remote. A token travels in the environment, which other accounts cannot read, as a header
// for this one origin: not in arguments, not in an address, not in a file. A key has to be a file for ssh; it
// lives in memory where the system has a file system for that, and only while git runs.

export type Token = { username?: string | null; secret: string }

export type Patience = {
  /** Until the host takes the connection. */
  connectMs: number
  /** Until a host that has stopped talking is given up. */
  silentMs: number
  /** The whole of it, waiting for others included. */
  totalMs: number
}

export type AccessRequest = {
  remote: Remote
  token: Token | null
  sshKey: string | null
  /** Where the host's name was found to be. Git goes there, whatever the name says by then. */
  addresses: string[]
  knownHosts: string
  patience: Patience
}

export type Access = { environment: Record<string, string>; release(): Promise<void> }

const KEY_FOLDER = 'gantry-key-'
const STALE_MS = 24 * 60 * 60 * 1_000

export async function prepareAccess(wish: AccessRequest): Promise<Access> {
  const allowed = { GIT_ALLOW_PROTOCOL: wish.remote.protocol }
  switch (wish.remote.protocol) {
    case 'file':
      return { environment: allowed, release: async () => {} }
    case 'http':
    case 'https':
      return { environment: { ...allowed, ...webEnvironment(wish) }, release: async () => {} }
    case 'ssh': {
      const key = await writeKey(wish.sshKey)
      return {
        environment: { ...allowed, GIT_SSH_VARIANT: 'ssh', GIT_SSH_COMMAND: sshCommand(wish, key.file) },
        release: key.remove,
      }
    }
  }
}

function webEnvironment({ remote, token, addresses, patience }: AccessRequest): Record<string, string> {
  const settings: [string, string][] = [['http.lowSpeedTime', seconds(patience.silentMs)]]
  if (token) {
    const username = token.username || remote.username || usernameFor(remote.host!)
    const pair = Buffer.from(`${username}:${token.secret}`).toString('base64')
    settings.push([`http.${new URL(remote.address).origin}/.extraHeader`, `Authorization: Basic ${pair}`])
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

function inBrackets(host: string): string {
  return host.includes(':') ? `[${host}]` : host
}

/** Hosts take a token as the password and most do not look at the name; this one does. */
function usernameFor(host: string): string {
  return host === 'bitbucket.org' ? 'x-token-auth' : 'x-access-token'
}

function sshCommand(
  { remote, addresses, knownHosts, patience }: AccessRequest,
  keyFile: string | null,
): string {
  const options: [string, string][] = [
    ['IdentityFile', keyFile === null ? 'none' : sshText(keyFile)],
    ['IdentitiesOnly', 'yes'],
    ['IdentityAgent', 'none'],
    ['BatchMode', 'yes'],
    ['StrictHostKeyChecking', 'accept-new'],
    ['UserKnownHostsFile', sshText(knownHosts)],
    ['GlobalKnownHostsFile', '/dev/null'],
    ['ConnectTimeout', seconds(patience.connectMs)],
    ['ServerAliveInterval', seconds(patience.silentMs / 3)],
    ['ServerAliveCountMax', '3'],
  ]
  const [first] = addresses
  if (first !== undefined) options.push(['HostName', first], ['HostKeyAlias', remote.host!])
  // -F: neither the machine's settings nor the account's.
  return ['ssh -F /dev/null', ...options.map((pair) => `-o ${shellText(pair.join('='))}`)].join(' ')
}

async function writeKey(key: string | null): Promise<{ file: string | null; remove(): Promise<void> }> {
  if (key === null) return { file: null, remove: async () => {} }
  const memory = await memoryFolder()
  await sweepKeys(memory)
  const folder = await mkdtemp(join(memory, KEY_FOLDER))
  const remove = () => rm(folder, { recursive: true, force: true })
  try {
    const file = join(folder, 'key')
    // OpenSSH refuses a key without its last line end, or with those of Windows.
    await writeFile(file, `${key.replaceAll('\r\n', '\n').trim()}\n`, { mode: 0o600 })
    return { file, remove }
  } catch (fault) {
    await remove()
    throw fault
  }
}

/** Keys of processes that were killed: no fetch takes this long. */
async function sweepKeys(memory: string): Promise<void> {
  const names = (await readdir(memory).catch(() => [])).filter((name) => name.startsWith(KEY_FOLDER))
  for (const name of names) {
    const { uid, mtimeMs } = await lstat(join(memory, name)).catch(() => ({ uid: -1, mtimeMs: 0 }))
    if (uid !== process.getuid?.() || Date.now() - mtimeMs < STALE_MS) continue
    await rm(join(memory, name), { recursive: true, force: true }).catch(() => {})
  }
}

async function memoryFolder(): Promise<string> {
  const memory = '/dev/shm'
  return access(memory, constants.W_OK | constants.X_OK).then(
    () => memory,
    () => tmpdir(),
  )
}

/** A path inside an ssh option, where spaces, quotes and percent signs would mean something. */
function sshText(path: string): string {
  return `"${path.replace(/["\\]/g, String.raw`\$&`).replaceAll('%', '%%')}"`
}

/** Git hands the command to a shell. */
function shellText(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}

function seconds(ms: number): string {
  return String(Math.max(1, Math.ceil(ms / 1_000)))
}
