import type { AddressGuard } from '#platform/addresses/guard.ts'
import type { SshGuard, SshVerdict } from '#platform/addresses/ssh-guard.ts'
import type { ServersTable } from '#platform/database/tables.ts'
import { type Connection, unreachable } from './executor.ts'
import { type LocalExecutor, openLocalExecutor } from './local.ts'
import { makeFolderOf } from './local-account.ts'
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

/**
 * The one way to a server, for runs, server checks and key probes: what a check finds is what a run gets.
 * `databaseUid`: the account of the embedded database, which local commands never use.
 */
export function createConnect({
  databaseUid,
  sshGuard,
}: {
  databaseUid: number | null
  sshGuard: SshGuard
}): {
  connect: Connect
  close(): Promise<void>
} {
  let local: Promise<LocalExecutor> | undefined

  const connectors: Record<ServerKind, Connect> = {
    async local({ rootDirectory }) {
      local ??= openLocalExecutor({ excludedUid: databaseUid }).catch((error) => {
        local = undefined
        throw error
      })
      const { account, run } = await local
      // Where we may not create it, the first command says so in the step's log.
      if (!('kind' in account)) await makeFolderOf(account, rootDirectory).catch(() => false)
      return { kind: 'connected', executor: { run, close: async () => {} } }
    },
    ssh: (server, options) => connectOverSsh(sshGuard, server, options),
  }

  return {
    connect: (server, options) => connectors[server.kind](server, options),
    close: async () => (await local)?.close(),
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
  const late = AbortSignal.timeout(connectTimeoutMs)
  const end = AbortSignal.any([late, ...(signal ? [signal] : [])])
  const ended = new Promise<'aborted' | 'late'>((resolve) => {
    const report = () => resolve(signal?.aborted ? 'aborted' : 'late')
    if (end.aborted) report()
    else end.addEventListener('abort', report, { once: true })
  })
  return Promise.race([result, ended])
}

/** Executors report reasons in lower case, for the middle of a sentence. */
export function asSentence(reason: string): string {
  const first = reason.charAt(0).toUpperCase() + reason.slice(1)
  return /[.!?]$/.test(first) ? first : `${first}.`
}
