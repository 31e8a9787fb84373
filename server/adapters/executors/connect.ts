import { setTimeout as pause } from 'node:timers/promises'
import type { AddressGuard } from '#platform/addresses/guard.ts'
import type { SshGuard, SshVerdict } from '#platform/addresses/ssh-guard.ts'
import type { ServersTable } from '#platform/database/tables.ts'
import { type Connection, type Unreachable, unreachable } from './executor.ts'
import type { Secrets } from './hidden.ts'
import { type LocalExecutor, openLocalExecutor } from './local.ts'
import { CONNECT_TIMEOUT_MS, connectSsh, type SshOptions } from './ssh-connect.ts'

/** A server with its decrypted key. Only SSH servers have host, port, login name and keys. */
export type ServerAddress = {
  name: string
  kind: ServerKind
  host: string | null
  port: number | null
  loginName: string | null
  hostKey: string | null
  privateKey: string | null
  /** Whether an instance administrator allowed this host to be the machine that Gantry runs on. */
  allowLoopback: boolean
  rootDirectory: string
}

export type ServerKind = ServersTable['provider_code']

export type ConnectOptions = Partial<
  Pick<SshOptions, 'onNewHostKey' | 'onShownHostKey' | 'connectTimeoutMs' | 'signal'>
> & {
  /**
   * Must allow the host, too. For hosts that any caller may name; servers are set up by people with the permission to
   * do so, and are usually in private networks.
   */
  guard?: AddressGuard
}

/** Closing the executor ends an SSH connection; the local executor lives as long as the process. */
export type Connect = (server: ServerAddress, options?: ConnectOptions) => Promise<Connection>

/** Why a local server with this root cannot be used, by field; undefined when it can. */
export type RefuseLocal = (
  rootDirectory: string,
) => Promise<{ provider_code: string[] } | { root_directory: string[] } | undefined>

export type LocalIsolation = 'isolated' | 'unsafe' | 'refused'

export type ConnectSettings = Secrets & {
  /** The account of the embedded database, which local commands never use. */
  databaseUid: number | null
  unsafeLocalSteps: boolean
  sshGuard: SshGuard
}

/** The one way to a server, for runs, server checks and key probes: what a check finds is what a run gets. */
export function createConnect(settings: ConnectSettings) {
  const { sshGuard, databaseUid, unsafeLocalSteps, ...secrets } = settings
  let opening: Promise<LocalExecutor | Unreachable> | undefined

  function openLocal(): Promise<LocalExecutor | Unreachable> {
    const options = { ...secrets, excludedUid: databaseUid, unsafe: unsafeLocalSteps }
    opening ??= openLocalExecutor(options).catch((error) => {
      opening = undefined
      throw error
    })
    return opening
  }

  const connectors: Record<ServerKind, Connect> = {
    async local({ rootDirectory }) {
      const local = await openLocal()
      return 'kind' in local ? local : local.connect(rootDirectory)
    },
    ssh: (server, options) => connectOverSsh(sshGuard, server, options),
  }

  const connect: Connect = (server, options) => connectors[server.kind](server, options)
  return {
    connect,
    async refuseLocal(rootDirectory: string): ReturnType<RefuseLocal> {
      const local = await openLocal()
      if ('kind' in local) return { provider_code: [asSentence(local.message)] }
      const refused = await local.refuseRoot(rootDirectory)
      return refused && { root_directory: [asSentence(refused.message)] }
    },
    /** How commands on this machine run: isolated from Gantry, not isolated because a setting allows it, or not at all. */
    async localIsolation(): Promise<LocalIsolation> {
      const local = await openLocal()
      if ('kind' in local) return 'refused'
      return local.containment === 'namespace' ? 'isolated' : 'unsafe'
    },
    async close(): Promise<void> {
      const local = await opening
      if (local && 'close' in local) await local.close()
    },
  }
}

async function connectOverSsh(
  sshGuard: SshGuard,
  server: ServerAddress,
  options: ConnectOptions = {},
): Promise<Connection> {
  const { guard, onNewHostKey = async () => {}, ...more } = options
  if (server.privateKey === null)
    return unreachable(`${server.name} has no SSH key: assign an SSH credential to it`)
  const verdict = await inTime(checkHost(server.host!, sshGuard, guard), more)
  if (verdict === 'aborted') return { kind: 'cancelled' }
  if (verdict === 'late') return unreachable(`the name ${server.host} could not be resolved in time`)
  if (verdict.kind !== 'allowed') return unreachable(verdict.message)
  if (verdict.isLoopback && !server.allowLoopback) return unreachable(notGranted(server.host!))
  return connectSsh({
    ...more,
    onNewHostKey,
    host: server.host!,
    addresses: verdict.addresses,
    port: server.port!,
    username: server.loginName!,
    privateKey: server.privateKey,
    hostKey: server.hostKey,
  })
}

/** Resolves the name once: what is checked is what is connected to. */
async function checkHost(host: string, sshGuard: SshGuard, guard?: AddressGuard): Promise<SshVerdict> {
  if (!guard) return sshGuard.check(host)
  const verdict = await guard.check(host)
  return verdict.kind === 'allowed' ? sshGuard.judge(host, verdict.addresses) : verdict
}

function notGranted(host: string): string {
  return (
    `${host} is the machine that Gantry runs on, and no instance administrator has allowed this server to use it. ` +
    'Change the host, or have an instance administrator save the server with this host'
  )
}

/** The system's resolver takes its time, and cannot be cancelled. */
async function inTime<Result>(
  result: Promise<Result>,
  { connectTimeoutMs = CONNECT_TIMEOUT_MS, signal }: Pick<SshOptions, 'connectTimeoutMs' | 'signal'>,
): Promise<Result | 'aborted' | 'late'> {
  const late = pause(connectTimeoutMs, 'late' as const, { signal, ref: false })
  return Promise.race([result, late.catch(() => 'aborted' as const)])
}

/** Executors report reasons in lower case, for the middle of a sentence. */
export function asSentence(reason: string): string {
  const first = reason.charAt(0).toUpperCase() + reason.slice(1)
  return /[.!?]$/.test(first) ? first : `${first}.`
}
