import { sql } from 'kysely'
import { type Attempt, type QueueCore, WAKE_CHANNEL } from './core.ts'

/** After this many lost workers beyond its retries, a job is taken for what kills them. */
const LOST_WORKERS_ALLOWED = 3

/**
 * Makes jobs ready again at once for any worker; returns the ids of those that were still ours.
 * Their budget of failures stays as it was: it was not they who failed.
 */
export async function handBack(queue: QueueCore, name: string, attempts: Attempt[]): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    with ready as (
      update queue.job
      set state = 'retry', start_after = queue.job_now(), heartbeat_on = null, retry_limit = retry_limit + 1
      where name = ${name} and state = 'active'
        and id = any(${attempts.map((attempt) => attempt.id)}::uuid[])
        and (id::text || ':' || retry_count) = any(${attempts.map(attemptKey)}::text[])
      returning id
    ), woken as (
      select pg_notify(${WAKE_CHANNEL}, ${name}) from ready limit 1
    )
    select id from ready where (select count(*) from woken) >= 0`.execute(queue.db)
  return rows.map((row) => row.id)
}

/** Makes the jobs of silent workers ready again, whatever their retry delay. Safe in many processes at once. */
export async function reassignLostJobs(queue: QueueCore): Promise<{ job: string; id: string }[]> {
  const { rows } = await sql<{ job: string; id: string }>`
    with ready as (
      update queue.job
      set state = 'retry', start_after = queue.job_now(), heartbeat_on = null
      where state = 'active' and retry_count < retry_limit + ${LOST_WORKERS_ALLOWED}
        and heartbeat_on + heartbeat_seconds * interval '1s' < queue.job_now()
      returning name, id
    ), woken as (
      select pg_notify(${WAKE_CHANNEL}, name) from (select distinct name from ready) names
    )
    select name as job, id from ready where (select count(*) from woken) >= 0`.execute(queue.db)
  return rows
}

export function attemptKey(attempt: Attempt): string {
  return `${attempt.id}:${attempt.retryCount}`
}
