import type { Connect } from '#adapters/executors/connect.ts'
import type { Executor, Unreachable } from '#adapters/executors/executor.ts'
import type { Database } from '#platform/database/connect.ts'
import type { ServerToReach } from './load-run.ts'
import { persist } from './persist.ts'

export type Reached = Executor | Unreachable | { kind: 'cancelled' }
export type Reach = (server: ServerToReach, signal: AbortSignal) => Promise<Reached>

/** Connects, and pins the host key of a server that has none yet. */
export function createReach({ db, connect }: { db: Database; connect: Connect }): Reach {
  return async (server, signal) => {
    const connection = await connect(server, {
      onNewHostKey: (hostKey) => persist(() => pinHostKey(db, server.id, hostKey), signal),
      signal,
    }).catch((error) => {
      if (error instanceof HostKeyConflict) return { kind: 'unreachable' as const, message: error.message }
      throw error
    })
    return connection.kind === 'connected' ? connection.executor : connection
  }
}

/** First contact: from now on no other key will do. Of two at the same time, the first to commit decides. */
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

class HostKeyConflict extends Error {
  override name = 'HostKeyConflict'
  constructor() {
    super('Two first connections to this server, at the same time, saw different host keys.')
  }
}
