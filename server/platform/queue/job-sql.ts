import { SCHEMA, WAKE_CHANNEL } from './core.ts'
import type { JobName } from './jobs.ts'

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
      insert into ${SCHEMA}.job (name, data, priority, start_after, created_on, expire_seconds, deletion_seconds,
        keep_until, retry_limit, retry_delay, retry_backoff, retry_delay_max, policy, dead_letter, heartbeat_seconds)
      select q.name, payload.data, 0, ${SCHEMA}.job_now(), ${SCHEMA}.job_now(), q.expire_seconds, q.deletion_seconds,
        ${SCHEMA}.job_now() + q.retention_seconds * interval '1s', q.retry_limit, q.retry_delay,
        coalesce(q.retry_backoff, false), q.retry_delay_max, q.policy, q.dead_letter, q.heartbeat_seconds
      from ${SCHEMA}.queue q cross join (select ${payload} as data) as payload
      where q.name = '${name}' and payload.data is not null
      returning id
    )`
}

/** An expression to select in such a statement: notifies workers when it commits. */
export function wakingWorkers(name: JobName): string {
  return `(select pg_notify('${WAKE_CHANNEL}', '${name}') from new_job)`
}
