import { sql, type Transaction } from 'kysely'
import { fromKysely } from 'pg-boss'
import type { Tables } from '#platform/database/tables.ts'
import type { Attempt, QueueCore } from './core.ts'

export class AttemptLostError extends Error {
  override name = 'AttemptLostError'
  constructor(job: string) {
    super(`This attempt of ${job} is no longer the current one: another worker has taken the job over.`)
  }
}

/**
 * Throws unless the attempt is still the current one, and keeps it so until the transaction ends: a
 * worker that slept through its take-over cannot write.
 */
export async function holdAttempt(trx: Transaction<Tables>, job: string, attempt: Attempt): Promise<void> {
  const { rows } = await sql`
    select 1 from queue.job
    where name = ${job} and id = ${attempt.id} and retry_count = ${attempt.retryCount} and state = 'active'
    for share`.execute(trx)
  if (rows.length === 0) throw new AttemptLostError(job)
}

/** Finishes the job in the handler's own transaction, so that its effect and its end are one. */
export async function completeInTransaction(
  queue: QueueCore,
  trx: Transaction<Tables>,
  job: string,
  attempt: Attempt,
): Promise<void> {
  const settled = await finishJobs(queue, job, [attempt], trx)
  if (settled.length === 0) throw new AttemptLostError(job)
}

/** Returns the ids of the jobs that were still ours to finish. */
export async function finishJobs(
  queue: QueueCore,
  job: string,
  attempts: Attempt[],
  trx?: Transaction<Tables>,
): Promise<string[]> {
  const options = trx ? { db: fromKysely(trx) } : {}
  const response = queue.jobs[job]?.keepFinishedSeconds
    ? await queue.boss.complete(job, attempts, null, options)
    : await queue.boss.deleteJob(job, attempts, options)
  return settledIds(response)
}

/** pg-boss reports the ids that a fenced call touched, but leaves them out of its types. */
export function settledIds(response: object): string[] {
  return (response as { settled: string[] }).settled
}
