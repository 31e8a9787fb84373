import { sql } from 'kysely'
import { QUERY_TIMEOUT_MS, withQueryTimeout } from '#platform/database/client.ts'
import { type QueueCore, WAKE_CHANNEL, type WorkerDeps } from './core.ts'
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
export async function reassignLostJobs(queue: QueueCore): Promise<{ job: string; id: string }[]> {
  const { rows } = await sql<{ job: string; id: string }>`
    with ready as (
      update queue.job
      set state = 'retry', start_after = queue.job_now(), heartbeat_on = null, group_id = null
      where state = 'active' and retry_count < retry_limit + ${LOST_WORKERS_ALLOWED}
        and heartbeat_on + heartbeat_seconds * interval '1s' < queue.job_now()
      returning name, id
    ), woken as (
      select pg_notify(${WAKE_CHANNEL}, name) from (select distinct name from ready) names
    )
    select name as job, id from ready where (select count(*) from woken) >= 0`.execute(queue.db)
  return rows
}
