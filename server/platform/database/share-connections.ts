import type { PostgresPool, PostgresPoolClient } from 'kysely'
import type pg from 'pg'
import type { Client } from './client.ts'

type Shared = { client: Client & pg.PoolClient; users: number; sentAt: number }

/**
 * Hands a connection out twice. The second statement is sent while the server works on the first, and follows it without
 * a pause. On two connections the server would work on both at once, and take the processor from the process that
 * prepares the next one.
 *
 * For single statements: a transaction would include those of others. The time that a statement may take must allow for
 * the one ahead of it. Nothing is sent behind a statement that was sent more than `withinMs` ago: it may be waiting for
 * a lock.
 */
export function shareConnections(pool: pg.Pool, withinMs: number): PostgresPool {
  let latest: Shared | undefined

  function use(shared: Shared): PostgresPoolClient {
    shared.users += 1
    const query = (text: string, values: unknown[]) => {
      if (TRANSACTION.test(text)) throw new Error('A shared connection cannot hold a transaction.')
      shared.sentAt = performance.now()
      return shared.client.query(text, values)
    }
    const release = () => {
      shared.users -= 1
      if (shared.users > 0) return
      if (latest === shared) latest = undefined
      shared.client.release()
    }
    return { query, release } as unknown as PostgresPoolClient
  }

  return {
    async connect() {
      if (latest && takesAnother(latest, withinMs)) return use(latest)
      const client = (await pool.connect()) as Shared['client']
      latest = { client, users: 0, sentAt: performance.now() }
      return use(latest)
    },
    end: () => pool.end(),
    options: pool.options,
  }
}

function takesAnother({ client, users, sentAt }: Shared, withinMs: number): boolean {
  if (users > 1 || performance.now() - sentAt > withinMs) return false
  // The waits for a standby of two commits overlap on two connections only.
  return !client.isPreparing && !client.isUnusable && !client.waitsForStandby
}

const TRANSACTION = /^\s*(begin|start|commit|rollback|savepoint)\b/i
