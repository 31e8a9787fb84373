// Connecting to a server. Who it is comes first: nothing is proved to, and nothing run on, a host with another key
// than the known one.

import ssh2 from 'ssh2'
import type { Executor, Unreachable } from './executor.ts'
import { fingerprint, formatHostKey, hostKeyAlgorithms, readKnownHost } from './host-key.ts'
import { createSshExecutor } from './ssh-executor.ts'
import { createSshLine } from './ssh-line.ts'
import { type Attempted, type SshFault, whyKeyUnreadable, whyUnreachable } from './ssh-reasons.ts'

export type SshOptions = {
  host: string
  port: number
  username: string
  privateKey: string
  passphrase?: string
  /** `ssh-ed25519 AAAA…` or `SHA256:…`; null: whatever key the host shows this first time is the right one. */
  hostKey: string | null
  /**
   * Told the key of a host that had none, once, when the host has proved that it is its own and before anything
   * runs. When it rejects, so does `connectSsh`, and nothing runs.
   */
  onNewHostKey(hostKey: string): Promise<void>
  /** Told every key that the host shows, also one that is refused and one that it has not proved to be its own. */
  onShownHostKey?(hostKey: string): void
  connectTimeoutMs?: number
  /** A line that is silent for four of these is lost. */
  keepaliveMs?: number
  /**
   * After how long a silence the target ends its commands by itself. Longer than our own patience: on a slow line,
   * what keeps it calm may have to wait behind an archive.
   */
  orphanedAfterMs?: number
  /** Gives up connecting. */
  signal?: AbortSignal
}

export type SshConnection = { kind: 'connected'; executor: Executor } | { kind: 'cancelled' } | Unreachable

const CONNECT_TIMEOUT_MS = 15_000
const KEEPALIVE_MS = 7_000
const ORPHANED_AFTER_MS = 60_000
const MISSED_KEEPALIVES = 3

export async function connectSsh(options: SshOptions): Promise<SshConnection> {
  const { host, port, username, signal, keepaliveMs = KEEPALIVE_MS } = options
  const timeoutMs = options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS
  const unreachable = (message: string): Unreachable => ({ kind: 'unreachable', message })
  const known = options.hostKey === null ? null : readKnownHost(options.hostKey)
  if (options.hostKey !== null && !known) {
    return unreachable(`the host key that is stored for ${host}:${port} is not a public key`)
  }
  const key = readPrivateKey(options)
  if ('kind' in key) return key
  if (signal?.aborted) return { kind: 'cancelled' }

  const client = new ssh2.Client()
  const outcome = Promise.withResolvers<'ready' | 'cancelled' | SshFault>()
  const cancel = () => outcome.resolve('cancelled')
  const attempted: Attempted = { host, port, username, timeoutMs, refusedKey: null }
  let accepted = known?.fingerprint
  let shown: Buffer | undefined
  signal?.addEventListener('abort', cancel)
  client.on('error', outcome.resolve)
  client.on('close', () => outcome.resolve(new Error('the connection was closed')))
  client.on('ready', () => outcome.resolve('ready'))
  client.connect({
    host,
    port,
    readyTimeout: timeoutMs,
    keepaliveInterval: keepaliveMs,
    keepaliveCountMax: MISSED_KEEPALIVES,
    algorithms: { serverHostKey: hostKeyAlgorithms(known) as ssh2.ServerHostKeyAlgorithm[] },
    username,
    authHandler: [{ type: 'publickey', username, key } as ssh2.PublicKeyAuthMethod],
    // Asked again whenever keys are exchanged anew; a host stays the one it was.
    hostVerifier: (offered: Buffer) => {
      shown = Buffer.from(offered)
      options.onShownHostKey?.(formatHostKey(shown))
      accepted ??= fingerprint(shown)
      if (accepted === fingerprint(shown)) return true
      attempted.refusedKey = { expected: accepted, offered: shown }
      return false
    },
  })
  let executor: Executor | undefined
  try {
    const reached = await outcome.promise
    if (reached === 'cancelled') return { kind: 'cancelled' }
    if (reached !== 'ready') return unreachable(whyUnreachable(reached, attempted))
    client.setNoDelay(true)
    const line = createSshLine(client, { place: `${host}:${port}`, username, openTimeoutMs: timeoutMs })
    if (!known) await options.onNewHostKey(formatHostKey(shown!))
    const seconds = Math.ceil((options.orphanedAfterMs ?? ORPHANED_AFTER_MS) / 1000)
    executor = createSshExecutor(line, {
      silence: { seconds, beatMs: keepaliveMs },
      startTimeoutMs: timeoutMs,
    })
    return { kind: 'connected', executor }
  } finally {
    signal?.removeEventListener('abort', cancel)
    if (!executor) client.destroy()
  }
}

function readPrivateKey({ privateKey, passphrase }: SshOptions): ssh2.ParsedKey | Unreachable {
  const parsed = ssh2.utils.parseKey(privateKey, passphrase)
  const key = Array.isArray(parsed) ? parsed[0] : parsed
  if (key && !(key instanceof Error) && key.isPrivateKey()) return key
  const problem = key instanceof Error ? key.message : ''
  return { kind: 'unreachable', message: whyKeyUnreadable(problem, passphrase !== undefined) }
}
