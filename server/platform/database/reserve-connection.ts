import type { Client } from './client.ts'
import { type ConnectionSettings, checkDatabase, openDatabase } from './connect.ts'
import { assertWritable, WRITABILITY } from './session.ts'

/** Shorter than that of other statements: what is sent over it is quick, or of no use any more. */
const QUERY_TIMEOUT_MS = 5_000
/** It stays open, however long it is not used. */
const NEVER = 0

/**
 * One connection for what must get through while all others are in use: heartbeats, health checks and metrics. It is
 * opened now, because the server may have none left when it is needed. With `acceptsReadOnly` it still reads when the
 * server takes no writes any more.
 */
export async function reserveConnection(
  settings: ConnectionSettings,
  { onIdleError, acceptsReadOnly }: { onIdleError: (error: Error) => void; acceptsReadOnly?: boolean },
) {
  const { db, pool, close } = openDatabase(settings, {
    max: 1,
    idleMs: NEVER,
    queryTimeoutMs: QUERY_TIMEOUT_MS,
    onIdleError,
    acceptsReadOnly,
  })
  try {
    await checkDatabase(db)
  } catch (error) {
    await close()
    throw error
  }

  /** Throws an outage unless the database answers and takes writes. */
  async function check(): Promise<void> {
    const client = (await pool.connect()) as unknown as Client & { release(): void }
    try {
      assertWritable((await client.query(`select ${WRITABILITY}`)).rows[0])
    } catch (error) {
      // After a failover, the next connection goes to the server that takes writes.
      client.isUnusable = true
      throw error
    } finally {
      client.release()
    }
  }
  return { db, check, close }
}
