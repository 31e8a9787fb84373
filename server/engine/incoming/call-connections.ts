import { type ConnectionSettings, type Database, openDatabase } from '#platform/database/connect.ts'

/** One for two commits behind each other, and one each for those that do not queue behind a slow one. */
export const CALL_CONNECTIONS = 3

/** How long a statement may take, from the moment it is sent. */
export const STATEMENT_MS = 6_000
/**
 * The server's limit for a statement, or in longer transactions for a lock. It includes waits for locks but not the commit. Twice this is less than that: a statement behind
 * another fails, and nothing was stored, before it is given up.
 */
export const SERVER_LIMIT = '2500ms'

/** Shorter than what makes a commit slow for group-commit.ts: what is sent then must not queue behind it. */
const PIPELINE_WITHIN_MS = 25

/** Less than a call takes to find out that the database went silent: the next one does not use a connection of before. */
const IDLE_MS = 5_000

/** `single`: for commits of one statement. */
export type CallDatabases = { db: Database; single: Database }

/** The connections of `single`, whatever else a process does. */
export function openCallConnections(settings: ConnectionSettings, onIdleError: (error: Error) => void) {
  return openDatabase(settings, {
    max: CALL_CONNECTIONS,
    pipelineWithinMs: PIPELINE_WITHIN_MS,
    idleMs: IDLE_MS,
    session: { statement_timeout: SERVER_LIMIT },
    onIdleError,
  })
}
