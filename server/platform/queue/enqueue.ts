import { sql, type Transaction } from 'kysely'
import { fromKysely } from 'pg-boss'
import type { Tables } from '#platform/database/tables.ts'
import { type QueueCore, WAKE_CHANNEL } from './core.ts'
import type { JobCatalogue, JobName, JobPayload } from './jobs.ts'

export type EnqueueOptions<Payload> = {
  startAfter?: Date
  /** Higher goes first; 0 unless told. */
  priority?: number
  /** For jobs that are `unique` in the catalogue: a job whose key is already there is not added. */
  key?: (payload: Payload) => string
}

/**
 * Adds one job per payload in the caller's transaction: they exist, and workers are woken, when it
 * commits, and neither when it does not. Returns the ids of the jobs that were added, in no
 * particular order. A payload that does not fit its schema throws before anything is written.
 */
export type Enqueue<Catalogue extends JobCatalogue> = <Name extends JobName<Catalogue>>(
  trx: Transaction<Tables>,
  name: Name,
  payloads: JobPayload<Name, Catalogue>[],
  options?: EnqueueOptions<JobPayload<Name, Catalogue>>,
) => Promise<string[]>

export function createEnqueue<Catalogue extends JobCatalogue>(queue: QueueCore): Enqueue<Catalogue> {
  return async (trx, name, payloads, options = {}) => {
    if (payloads.length === 0) return []
    for (const payload of payloads) queue.checkPayload(name, payload)
    const rows = payloads.map((payload) => ({
      data: payload as object,
      priority: options.priority,
      startAfter: options.startAfter,
      singletonKey: options.key?.(payload),
    }))
    const ids = await queue.boss.insert(name, rows, { db: fromKysely(trx), returnId: true })
    // pg-boss announces only what can run at once. A worker that hears of a later job looks when it is due.
    if (options.startAfter && ids) await wakeWorkers(trx, [name])
    return ids ?? []
  }
}

export async function wakeWorkers(db: QueueCore['db'], names: string[]): Promise<void> {
  await sql`select pg_notify(${WAKE_CHANNEL}, name) from unnest(${names}::text[]) name`.execute(db)
}
