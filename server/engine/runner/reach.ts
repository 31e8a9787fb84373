import type { Executor, Unreachable } from '#adapters/executors/executor.ts'
import type { LocalExecutor } from '#adapters/executors/local.ts'
import { makeFolderOf } from '#adapters/executors/local-account.ts'
import { connectSsh } from '#adapters/executors/ssh-connect.ts'
import type { Database } from '#platform/database/connect.ts'
import type { ServerToReach } from './load-run.ts'
import { persist } from './persist.ts'

export type Reached = Executor | Unreachable | { kind: 'cancelled' }
export type Reach = (server: ServerToReach, signal: AbortSignal) => Promise<Reached>

/** `local` lives as long as the process; a connection to another machine as long as the target that it is for. */
export function createReach(deps: { db: Database; local: LocalExecutor }): Reach {
  return (server, signal) =>
    server.kind === 'local' ? reachLocal(deps.local, server) : reachSsh(deps.db, server, signal)
}

async function reachLocal(local: LocalExecutor, server: ServerToReach): Promise<Reached> {
  if (!('kind' in local.account)) {
    // Where we may not make it, the first command says so in the step's log.
    await makeFolderOf(local.account, server.rootDirectory).catch(() => false)
  }
  return { run: local.run, close: async () => {} }
}

async function reachSsh(db: Database, server: ServerToReach, signal: AbortSignal): Promise<Reached> {
  if (server.privateKey === null)
    return unreachable(`The server ${server.name} has no key to log in with: give it an SSH credential.`)
  const connection = await connectSsh({
    host: server.host!,
    port: server.port!,
    username: server.loginName!,
    privateKey: server.privateKey,
    hostKey: server.hostKey,
    onNewHostKey: (hostKey) => persist(() => pinHostKey(db, server.id, hostKey), signal),
    signal,
  }).catch((error) => {
    if (error instanceof HostKeyConflict) return unreachable(error.message)
    throw error
  })
  return connection.kind === 'connected' ? connection.executor : connection
}

/** First contact: from now on no other key will do. Whoever was faster decides. */
async function pinHostKey(db: Database, serverId: number, hostKey: string): Promise<void> {
  await db
    .updateTable('servers')
    .set({ host_key: hostKey })
    .where('id', '=', serverId)
    .where('host_key', 'is', null)
    .execute()
  const { host_key } = await db
    .selectFrom('servers')
    .select('host_key')
    .where('id', '=', serverId)
    .executeTakeFirstOrThrow()
  if (host_key !== hostKey) throw new HostKeyConflict()
}

function unreachable(message: string): Unreachable {
  return { kind: 'unreachable', message }
}

class HostKeyConflict extends Error {
  override name = 'HostKeyConflict'
  constructor() {
    super('Two first contacts with this server, at the same time, saw different host keys.')
  }
}
