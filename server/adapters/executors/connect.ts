import type { AddressGuard } from '#platform/addresses/guard.ts'
import type { ServersTable } from '#platform/database/tables.ts'
import { type Connection, unreachable } from './executor.ts'
import { type LocalExecutor, openLocalExecutor } from './local.ts'
import { makeFolderOf } from './local-account.ts'
import { connectSsh, type SshOptions } from './ssh-connect.ts'

/** A server with its decrypted key. Only SSH servers have host, port, login name and keys. */
export type ServerAddress = {
  name: string
  kind: ServerKind
  host: string | null
  port: number | null
  loginName: string | null
  hostKey: string | null
  privateKey: string | null
  rootDirectory: string
}

export type ServerKind = ServersTable['provider_code']

export type ConnectOptions = Partial<
  Pick<SshOptions, 'onNewHostKey' | 'onShownHostKey' | 'connectTimeoutMs' | 'signal'>
> & {
  /**
   * Checks the host first, and connects to an address that it allows. For hosts that any caller may name; servers
   * are set up by people with the permission to do so, and are usually in private networks.
   */
  guard?: AddressGuard
}

/** Closing the executor ends an SSH connection; the local executor lives as long as the process. */
export type Connect = (server: ServerAddress, options?: ConnectOptions) => Promise<Connection>

/**
 * The one way to a server, for runs, server checks and key probes: what a check finds is what a run gets.
 * `databaseUid`: the account of the embedded database, which local commands never use.
 */
export function createConnect({ databaseUid }: { databaseUid: number | null }): {
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
    ssh: connectOverSsh,
  }

  return {
    connect: (server, options) => connectors[server.kind](server, options),
    close: async () => (await local)?.close(),
  }
}

async function connectOverSsh(server: ServerAddress, options: ConnectOptions = {}): Promise<Connection> {
  const { guard, onNewHostKey = async () => {}, ...more } = options
  if (server.privateKey === null)
    return unreachable(`${server.name} has no SSH key: assign an SSH credential to it`)
  const verdict = await guard?.check(server.host!)
  if (verdict && verdict.kind !== 'allowed') return unreachable(verdict.message)
  return connectSsh({
    ...more,
    onNewHostKey,
    host: verdict?.addresses[0] ?? server.host!,
    port: server.port!,
    username: server.loginName!,
    privateKey: server.privateKey,
    hostKey: server.hostKey,
  })
}

/** Executors report reasons in lower case, for the middle of a sentence. */
export function asSentence(reason: string): string {
  const first = reason.charAt(0).toUpperCase() + reason.slice(1)
  return /[.!?]$/.test(first) ? first : `${first}.`
}
