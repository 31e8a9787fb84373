import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import type { PgBoss } from 'pg-boss'
import type { Database } from '#platform/database/connect.ts'
import type { JobCatalogue } from './jobs.ts'

export const SCHEMA = 'queue'
export const DEAD_LETTERS = 'dead-letters'
/** Where pg-boss announces new jobs, with the job's name as payload. It derives the channel from the schema. */
export const WAKE_CHANNEL = `pgboss_${createHash('sha224').update(SCHEMA).digest('hex').slice(0, 24)}`

/** A worker without a heartbeat for this long loses its jobs (maintenance.ts). */
export const HEARTBEAT_SECONDS = 20
/** How long a handler may take to react to its aborted signal before it is abandoned. */
export const ABORT_GRACE_SECONDS = 5

/** What the modules of this room share. */
export type QueueCore = {
  boss: PgBoss
  db: Database
  jobs: JobCatalogue
  checkPayload: (job: string, payload: unknown) => void
}

/** One run of one job. Every write about it names it, and has no effect once another attempt has begun. */
export type Attempt = { id: string; retryCount: number }

/** The part of pino that this room uses. */
export type Log = Record<'debug' | 'info' | 'warn' | 'error', (fields: object, message: string) => void>

export async function wakeWorkers(db: QueueCore['db'], names: string[]): Promise<void> {
  await sql`select pg_notify(${WAKE_CHANNEL}, name) from unnest(${names}::text[]) name`.execute(db)
}
