import { type RawBuilder, sql } from 'kysely'
import { fromKysely } from 'pg-boss'
import type { Transaction } from '#platform/database/connect.ts'
import { RELEASE_WHEN_SILENT } from '#platform/database/release-when-silent.ts'
import type { Attempt, QueueCore } from './core.ts'
import type { JobCatalog, JobName, JobPayload, Jobs } from './jobs.ts'

export type JobContext = {
  jobId: string
  /** 1 for the first. */
  attempt: number
  /** Aborts on timeout, when the job was reassigned to another worker, and when the process stops. */
  signal: AbortSignal
  /** The worker takes nothing new: a handler that can be continued elsewhere throws `HandOver` at the next occasion. */
  isDraining(): boolean
  /** Aborts when the worker stops or drains: what can continue elsewhere without a loss throws `HandOver` right away. */
  handOver: AbortSignal
  /**
   * Throws unless this attempt still owns the job, and keeps it so until `trx` ends, so that a worker that slept
   * through the reassignment of its job cannot write. For every write but the last.
   */
  hold(trx: Transaction): Promise<void>
  /** What `hold` does, as a part of another statement: a subquery with one row, or none when the attempt was lost. */
  held: RawBuilder<unknown>
  /** Completes the job in `trx`, atomically with the handler's last writes. Throws when the attempt was lost. */
  complete(trx: Transaction): Promise<void>
}

/** Returns when the job is done, throws when it is not. It may run more than once for one job. */
export type JobHandler<Payload> = (payload: Payload, context: JobContext) => Promise<void>

/** A process fetches only the jobs that it has handlers for. */
export type JobHandlers<Catalog extends JobCatalog = Jobs> = {
  [Name in JobName<Catalog>]?: JobHandler<JobPayload<Name, Catalog>>
}

export class AttemptLostError extends Error {
  override name = 'AttemptLostError'
  constructor(job: string) {
    super(`This attempt of ${job} is no longer current: the job was reassigned to another worker.`)
  }
}

/** Thrown by a handler whose job is to be continued by another attempt. It has not failed. */
export class HandOver extends Error {
  override name = 'HandOver'
}

export function createContext(
  queue: QueueCore,
  job: string,
  attempt: Attempt,
  signal: AbortSignal,
  { onComplete, ...worker }: Pick<JobContext, 'isDraining' | 'handOver'> & { onComplete: () => void },
): JobContext {
  // A weaker lock than one on the row as a whole: heartbeats pass, also while `trx` waits for something else. Fetching
  // still skips the row, so that no other attempt starts before `trx` has ended.
  const held = sql`
    select ${RELEASE_WHEN_SILENT} from queue.job
    where name = ${job} and id = ${attempt.id} and retry_count = ${attempt.retryCount} and state = 'active'
    for key share`
  return {
    jobId: attempt.id,
    attempt: attempt.retryCount + 1,
    signal,
    ...worker,
    held,
    async hold(trx) {
      const { rows } = await held.execute(trx)
      if (rows.length === 0) throw new AttemptLostError(job)
    },
    async complete(trx) {
      const completed = await completeJobs(queue, job, [attempt], trx)
      if (completed.length === 0) throw new AttemptLostError(job)
      onComplete()
    },
  }
}

/** Returns the ids of the jobs that these attempts still owned. */
export async function completeJobs(queue: QueueCore, job: string, attempts: Attempt[], trx?: Transaction) {
  const options = trx ? { db: fromKysely(trx) } : {}
  const response = queue.jobs[job]?.keepFinishedSeconds
    ? await queue.boss.complete(job, attempts, null, options)
    : await queue.boss.deleteJob(job, attempts, options)
  return affectedIds(response)
}

/** pg-boss reports the ids that a fenced call affected, but leaves them out of its types. */
export function affectedIds(response: object): string[] {
  return (response as { settled: string[] }).settled
}
