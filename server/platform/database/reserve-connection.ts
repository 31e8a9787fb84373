import { type ConnectionSettings, checkDatabase, openDatabase } from './connect.ts'

/** Shorter than that of other statements: what is sent over it is quick, or of no use any more. */
const QUERY_TIMEOUT_MS = 5_000
/** It stays open, however long it is not used. */
const NEVER = 0

/**
 * One connection for what must get through while all others are in use: heartbeats, health checks and metrics. It is
 * opened now, because the server may have none left when it is needed.
 */
export async function reserveConnection(
  settings: ConnectionSettings,
  { onIdleError }: { onIdleError: (error: Error) => void },
) {
  const { db, close } = openDatabase(settings, {
    max: 1,
    idleMs: NEVER,
    queryTimeoutMs: QUERY_TIMEOUT_MS,
    onIdleError,
  })
  try {
    await checkDatabase(db)
  } catch (error) {
    await close()
    throw error
  }
  return { db, close }
}
