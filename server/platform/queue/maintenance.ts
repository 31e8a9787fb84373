import { sql } from 'kysely'
import { QUERY_TIMEOUT_MS, withQueryTimeout } from '#platform/database/client.ts'
import { makeReady, type QueueCore, type WorkerDeps } from './core.ts'
import { repeat } from './repeat.ts'

/** A job that has lost this many workers beyond its retries is assumed to kill them. */
const LOST_WORKERS_ALLOWED = 3

/**
 * What some process of the cluster has to do for all: enqueue periodic jobs, reassign the jobs of lost workers,
 * expire and delete old rows. Every worker process does it; the database ensures that each effect happens once.
 */
export async function runMaintenance(deps: WorkerDeps, signal: AbortSignal): Promise<void> {
  const { queue, retry, log, timings } = deps
  let lastContact = performance.now()
  let graceUntil = 0

  async function runOnce(): Promise<void> {
    await enqueuePeriodicJobs(queue)
    // During an outage no heartbeat arrives, which says nothing about the workers.
    const now = performance.now()
    if (now - lastContact > 2 * timings.maintenanceMs) graceUntil = now + timings.returnGraceMs
    lastContact = now
    if (now < graceUntil) return
    for (const { job, id } of await reassignLostJobs(queue)) {
      log.warn({ job, job_id: id }, 'worker lost; job reassigned')
    }
    await queue.boss.supervise()
  }

  const patiently = () => withQueryTimeout(QUERY_TIMEOUT_MS, runOnce)
  await repeat(timings.maintenanceMs, signal, () => retry('maintenance', patiently, signal), {
    onError: (error) => log.error({ err: error }, 'queue maintenance failed'),
  })
}

/** A period is a slot of the database's clock, and a slot takes one job. */
export async function enqueuePeriodicJobs(queue: QueueCore): Promise<void> {
  for (const [name, { everySeconds }] of Object.entries(queue.jobs)) {
    if (everySeconds) await queue.boss.insert(name, [{ data: {}, singletonSeconds: everySeconds }])
  }
}

/**
 * Makes the jobs of lost workers ready again, whatever their retry delay, and for any group: the one that they were
 * meant for may be gone. Safe in many processes at once.
 */
export function reassignLostJobs(queue: QueueCore): Promise<{ job: string; id: string }[]> {
  const isLost = sql`retry_count < retry_limit + ${LOST_WORKERS_ALLOWED}
    and heartbeat_on + heartbeat_seconds * interval '1s' < queue.job_now()`
  return makeReady(queue.db, isLost, sql`group_id = null`)
}
