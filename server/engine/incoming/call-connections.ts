import { type ConnectionSettings, type Database, openDatabase } from '#platform/database/connect.ts'

/** One for two commits behind each other, and one each for those that do not queue behind a slow one. */
export const CALL_CONNECTIONS = 3

/** How long a statement may take, from the moment it is sent. */
export const STATEMENT_MS = 6_000
/** Twice this is less than that: a call that waits for a lock, behind another that did, fails before it is given up. */
const LOCK_TIMEOUT = '2500ms'

/** Calls that one statement stores go over `single`; everything else over `db`. */
export type CallDatabases = { db: Database; single: Database }

/** The connections that calls are committed over, whatever else a process does. */
export function openCallConnections(settings: ConnectionSettings, onIdleError: (error: Error) => void) {
  const session = { lock_timeout: LOCK_TIMEOUT }
  return openDatabase(settings, { max: CALL_CONNECTIONS, pipeline: true, session, onIdleError })
}
