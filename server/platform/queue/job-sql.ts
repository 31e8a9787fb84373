import { WAKE_CHANNEL } from './core.ts'
import type { JobName } from './jobs.ts'

/** The columns of a job that follow from its queue, `q`. */
export const SETTINGS = {
  keep_until: "queue.job_now() + q.retention_seconds * interval '1s'",
  retry_limit: 'q.retry_limit',
  retry_delay: 'q.retry_delay',
  retry_backoff: 'coalesce(q.retry_backoff, false)',
  retry_delay_max: 'q.retry_delay_max',
  expire_seconds: 'q.expire_seconds',
  deletion_seconds: 'q.deletion_seconds',
  dead_letter: 'q.dead_letter',
  policy: 'q.policy',
  heartbeat_seconds: 'q.heartbeat_seconds',
}

/**
 * Adds one job as part of a larger statement: the common table expression `new_job`, to be put after `with`.
 * Only for receiving calls, where another round trip matters; all other code uses `enqueue`. It writes what
 * pg-boss would write, which a test verifies.
 *
 * `payload` is an SQL expression for the job's data; no job is added when it is null.
 */
export function addingJob(name: JobName, payload: string): string {
  return `
    new_job as (
      insert into queue.job (name, data, priority, start_after, created_on, ${Object.keys(SETTINGS).join(', ')})
      select q.name, payload.data, 0, queue.job_now(), queue.job_now(), ${Object.values(SETTINGS).join(', ')}
      from queue.queue q cross join (select ${payload} as data) as payload
      where q.name = '${name}' and payload.data is not null
      returning id
    )`
}

/** An expression to select in such a statement: notifies workers when it commits. */
export function wakingWorkers(name: JobName): string {
  return `(select pg_notify('${WAKE_CHANNEL}', '${name}') from new_job)`
}
