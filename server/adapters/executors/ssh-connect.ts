// Connecting to a server over SSH. Identity comes first: no login and no command on a host with another key than
// the known one.

import { connect as connectSocket, isIP, type Socket } from 'node:net'
import ssh2 from 'ssh2'
import { type Connection, type Executor, type Unreachable, unreachable } from './executor.ts'
import { fingerprint, formatHostKey, hostKeyAlgorithms, readKnownHost } from './host-key.ts'
import { createSshConnection, printable } from './ssh-connection.ts'
import { createSshExecutor } from './ssh-executor.ts'

export type SshOptions = {
  host: string
  /** The checked addresses of the host. Gantry connects to one of these only. */
  addresses: readonly string[]
  port: number
  username: string
  privateKey: string
  /** `ssh-ed25519 AAAA…` or `SHA256:…`; null: trust the key that the host shows this first time. */
  hostKey: string | null
  /**
   * Called with the key of a host that had none, once, when the host has proved that it owns the key and before
   * anything runs. When it rejects, so does `connectSsh`, and nothing runs.
   */
  onNewHostKey(hostKey: string): Promise<void>
  /** Called with every key that the host shows, including rejected ones and ones that it has not proved to own. */
  onShownHostKey?(hostKey: string): void
  connectTimeoutMs?: number
  /** A connection that is silent for four of these is lost. */
  keepaliveMs?: number
  /**
   * After how long a silence the target ends its commands on its own. Longer than our own timeout: on a slow
   * connection, heartbeats may have to wait behind an archive.
   */
  orphanedAfterMs?: number
  /** Cancels connecting. */
  signal?: AbortSignal
}

export const CONNECT_TIMEOUT_MS = 15_000
const KEEPALIVE_MS = 7_000
const ORPHANED_AFTER_MS = 60_000
const MISSED_KEEPALIVES = 3

export async function connectSsh(options: SshOptions): Promise<Connection> {
  const { host, port, username, signal, keepaliveMs = KEEPALIVE_MS } = options
  const address = `${host}:${port}`
  const timeoutMs = options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS
  const known = options.hostKey === null ? null : readKnownHost(options.hostKey)
  if (options.hostKey !== null && !known)
    return unreachable(`the stored host key of ${address} is not a public key`)
  const key = readPrivateKey(options)
  if ('kind' in key) return key
  if (signal?.aborted) return { kind: 'cancelled' }

  const client = new ssh2.Client()
  const outcome = Promise.withResolvers<'ready' | 'cancelled' | SshError>()
  const cancel = () => outcome.resolve('cancelled')
  let accepted = known?.fingerprint
  let shown: Buffer | undefined
  signal?.addEventListener('abort', cancel)
  client.on('error', outcome.resolve)
  client.on('close', () => outcome.resolve(new Error('the connection was closed')))
  client.on('ready', () => outcome.resolve('ready'))
  client.connect({
    sock: openSocket(options),
    readyTimeout: timeoutMs,
    keepaliveInterval: keepaliveMs,
    keepaliveCountMax: MISSED_KEEPALIVES,
    algorithms: { serverHostKey: hostKeyAlgorithms(known) as ssh2.ServerHostKeyAlgorithm[] },
    username,
    authHandler: [{ type: 'publickey', username, key } as ssh2.PublicKeyAuthMethod],
    // Called again at every key exchange; a host must stay the one it was.
    hostVerifier: (offered: Buffer) => {
      shown = Buffer.from(offered)
      options.onShownHostKey?.(formatHostKey(shown))
      accepted ??= fingerprint(shown)
      return accepted === fingerprint(shown)
    },
  })
  let executor: Executor | undefined
  try {
    const reached = await outcome.promise
    if (reached === 'cancelled') return { kind: 'cancelled' }
    if (reached !== 'ready') {
      const isRejected = shown && fingerprint(shown) !== accepted
      return unreachable(
        isRejected ? wrongHostKey(address, accepted!, shown!) : explain(reached, address, options, timeoutMs),
      )
    }
    client.setNoDelay(true)
    const connection = createSshConnection(client, { address, username, openTimeoutMs: timeoutMs })
    if (!known) await options.onNewHostKey(formatHostKey(shown!))
    const seconds = Math.ceil((options.orphanedAfterMs ?? ORPHANED_AFTER_MS) / 1000)
    executor = createSshExecutor(connection, {
      silence: { seconds, heartbeatMs: keepaliveMs },
      startTimeoutMs: timeoutMs,
    })
    return { kind: 'connected', executor }
  } finally {
    signal?.removeEventListener('abort', cancel)
    if (!executor) client.destroy()
  }
}

/** Tries the addresses in order, and soon also those of the other IP family. */
function openSocket({ host, addresses, port }: SshOptions): Socket {
  const found = addresses.map((address) => ({ address, family: isIP(address) }))
  // An address as host is not looked up.
  const name = addresses.length === 1 ? addresses[0]! : host
  return connectSocket({ host: name, port, lookup: (_name, _options, answer) => answer(null, found) })
}

type SshError = Error & { code?: unknown; level?: unknown }

function wrongHostKey(address: string, expected: string, offered: Buffer): string {
  return (
    `the host key of ${address} is not the known one: expected ${expected}, ` +
    `got ${fingerprint(offered)} (${formatHostKey(offered).split(' ')[0]}). ` +
    'If the server was reinstalled, update its host key; if not, someone may be intercepting the connection'
  )
}

/** Why a server could not be reached, for the person who set it up. */
function explain(error: SshError, address: string, { host, username }: SshOptions, timeoutMs: number) {
  const code = String(error.code)
  if (code === 'ECONNREFUSED') return `${address} refused the connection: no SSH server is listening there`
  if (/^(ENOTFOUND|EAI_AGAIN)$/.test(code)) return `the name ${host} could not be resolved`
  if (/^(EHOSTUNREACH|ENETUNREACH)$/.test(code)) return `there is no route to ${address}`
  if (code === 'ETIMEDOUT') return `${address} did not answer in time`
  if (/^(ECONNRESET|EPIPE)$/.test(code)) return `${address} reset the connection`
  if (error.level === 'client-timeout')
    return `${address} did not answer in time: no SSH connection within ${timeoutMs / 1000} seconds`
  if (error.level === 'client-authentication') return `${address} does not accept the key for ${username}`
  if (/before handshake/.test(error.message)) return `${address} closed the connection: is it an SSH server?`
  return `no SSH connection to ${address}: ${printable(error.message)}`
}

function readPrivateKey({ privateKey }: SshOptions): ssh2.ParsedKey | Unreachable {
  const [key] = [ssh2.utils.parseKey(privateKey)].flat()
  if (key && !(key instanceof Error) && key.isPrivateKey()) return key
  // The message of the parser never quotes the key.
  const problem = key instanceof Error ? key.message : ''
  return /no passphrase given/i.test(problem)
    ? unreachable('the private key is encrypted, and no passphrase was given')
    : unreachable('the private key cannot be read: it must be a private key in OpenSSH or PEM format')
}
