import { sql } from 'kysely'

/**
 * Part of the statement with which a transaction takes a lock that others wait for: if its client stops in the middle
 * (a frozen process, a machine without power), the server ends the transaction after three seconds, and the lock is free.
 */
export const RELEASE_WHEN_SILENT = sql`set_config('idle_in_transaction_session_timeout', '3s', true)`
