import { createHash } from 'node:crypto'
import type { PgBoss } from 'pg-boss'
import type { Database } from '#platform/database/connect.ts'
import type { JobCatalogue } from './jobs.ts'

export const SCHEMA = 'queue'
export const DEAD_LETTERS = 'dead-letters'
/** Where pg-boss tells of new jobs, with the job's name as payload. It derives the name from the schema. */
export const WAKE_CHANNEL = `pgboss_${createHash('sha224').update(SCHEMA).digest('hex').slice(0, 24)}`

/** A worker that was silent for this long has lost its jobs (upkeep.ts). */
export const HEARTBEAT_SECONDS = 20
/** How long a handler may take to obey its aborted signal before its slot is taken from it. */
export const ABORT_GRACE_SECONDS = 5

/** What the parts of this room share. */
export type QueueCore = {
  boss: PgBoss
  db: Database
  jobs: JobCatalogue
  checkPayload: (job: string, payload: unknown) => void
}

/** One run of one job. Every write about it names it, and touches nothing once another run has begun. */
export type Attempt = { id: string; retryCount: number }

/** The part of pino that this room uses. */
export type Log = Record<'debug' | 'info' | 'warn' | 'error', (fields: object, message: string) => void>
