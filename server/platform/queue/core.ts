import { createHash } from 'node:crypto'
import { type RawBuilder, sql } from 'kysely'
import type { PgBoss } from 'pg-boss'
import type { Database } from '#platform/database/connect.ts'
import type { OutageRetrier } from '#platform/database/outages.ts'
import type { JobCatalog } from './jobs.ts'

export const SCHEMA = 'queue'
export const DEAD_LETTERS = 'dead-letters'
/** Where pg-boss announces new jobs, with the job's name as payload. It derives the channel from the schema. */
export const WAKE_CHANNEL = `pgboss_${createHash('sha224').update(SCHEMA).digest('hex').slice(0, 24)}`

/** A worker without a heartbeat for this long loses its jobs (maintenance.ts). */
export const HEARTBEAT_SECONDS = 20
/** How long a handler may take to react to its aborted signal before it is abandoned. */
export const ABORT_GRACE_SECONDS = 5

export const DEFAULT_TIMINGS = {
  /** How long an idle consumer waits before it polls without a notification. */
  pollMs: 5_000,
  /** How long outcomes are collected to be written together. */
  batchMs: 5,
  heartbeatMs: (HEARTBEAT_SECONDS * 1_000) / 4,
  abortGraceMs: ABORT_GRACE_SECONDS * 1_000,
  maintenanceMs: 5_000,
  /** After an outage, or a pause of this process: how long live workers have to send a heartbeat. */
  returnGraceMs: 10_000,
  /** How long a stopping worker tries to write its last outcomes. After that its jobs are reassigned. */
  lastWritesMs: 3_000,
}

export type WorkerTimings = typeof DEFAULT_TIMINGS

/** What the modules of this room share. */
export type QueueCore = {
  boss: PgBoss
  db: Database
  jobs: JobCatalog
  checkPayload: (job: string, payload: unknown) => void
}

/** One run of one job. Every write about it names it, and has no effect once another attempt has begun. */
export type Attempt = { id: string; retryCount: number }

/** The part of pino that this room uses. */
export type Log = Record<'debug' | 'info' | 'warn' | 'error', (fields: object, message: string) => void>

/** What the parts of one worker share. */
export type WorkerDeps = {
  queue: QueueCore
  /** Over which heartbeats are sent. */
  heartbeats: Database
  retry: OutageRetrier
  log: Log
  timings: WorkerTimings
  /** Aborts when outcomes that are still unwritten are to be dropped. */
  abandon: AbortSignal
}

/** Makes running jobs ready again for any worker, and notifies workers; returns the names and ids of those jobs. */
export async function makeReady(db: Database, where: RawBuilder<unknown>, set: RawBuilder<unknown>) {
  const { rows } = await sql<{ job: string; id: string }>`
    with ready as (
      update queue.job set state = 'retry', start_after = queue.job_now(), heartbeat_on = null, ${set}
      where state = 'active' and ${where} returning name as job, id
    ), woken as (
      select pg_notify(${WAKE_CHANNEL}, job) from (select distinct job from ready) as jobs
    )
    select job, id from ready where (select count(*) from woken) >= 0`.execute(db)
  return rows
}
