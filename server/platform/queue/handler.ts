import type { Transaction } from 'kysely'
import type { Tables } from '#platform/database/tables.ts'
import type { Attempt, QueueCore } from './core.ts'
import { completeInTransaction, holdAttempt } from './fence.ts'
import type { JobCatalogue, JobName, JobPayload, Jobs } from './jobs.ts'

export type JobContext = {
  jobId: string
  /** 1 for the first. */
  attempt: number
  /** Aborts on timeout, when the attempt was lost to another worker, and when the process stops. */
  signal: AbortSignal
  /** Throws unless this attempt still owns the job, and keeps it so until `trx` ends: for writes on the way. */
  hold(trx: Transaction<Tables>): Promise<void>
  /** Ends the job in `trx`, as one with the handler's last writes. Throws when the attempt was lost. */
  complete(trx: Transaction<Tables>): Promise<void>
}

/** Returns when the job is done, throws when it is not. It may run more than once for one job. */
export type JobHandler<Payload> = (payload: Payload, context: JobContext) => Promise<void>

/** What a process is able to do. It fetches no other jobs. */
export type JobHandlers<Catalogue extends JobCatalogue = Jobs> = {
  [Name in JobName<Catalogue>]?: JobHandler<JobPayload<Name, Catalogue>>
}

export function createContext(
  queue: QueueCore,
  job: string,
  attempt: Attempt,
  signal: AbortSignal,
  onComplete: () => void,
): JobContext {
  return {
    jobId: attempt.id,
    attempt: attempt.retryCount + 1,
    signal,
    hold: (trx) => holdAttempt(trx, job, attempt),
    async complete(trx) {
      await completeInTransaction(queue, trx, job, attempt)
      onComplete()
    },
  }
}
