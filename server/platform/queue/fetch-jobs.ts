import { sql } from 'kysely'
import type { Job } from 'pg-boss'
import type { QueueCore } from './core.ts'

/**
 * Fetches jobs of this group, and those of none; without a group, all. Does what `fetch` of pg-boss does for a queue of the
 * policy `standard`, which a test verifies. pg-boss itself cannot choose a group, and its statement is planned each time,
 * which takes longer than running it.
 */
export async function fetchJobs(
  queue: Pick<QueueCore, 'db'>,
  name: string,
  group: string | null,
  limit: number,
): Promise<Job<unknown>[]> {
  const { rows } = await sql<Job<unknown>>`
    with next as (
      select id from queue.job
      where name = ${name} and state < 'active' and not blocked and start_after <= queue.job_now()
        and (group_id is null or ${group}::text is null or group_id = ${group})
      order by priority desc, created_on limit ${limit}
      for update skip locked
    )
    update queue.job job
    set state = 'active', started_on = queue.job_now(), heartbeat_on = queue.job_now(),
      retry_count = case when started_on is not null then retry_count + 1 else retry_count end
    from next where job.name = ${name} and job.id = next.id
    returning job.id, job.name, job.data, job.retry_count as "retryCount"`.execute(queue.db)
  return rows
}
