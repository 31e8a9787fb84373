import { sql } from 'kysely'
import { DEAD_LETTERS, type QueueCore } from './core.ts'

export type QueueDepth = { job: string; ready: number; deferred: number; active: number; dead: number }

/** How many jobs of each name are ready, not due yet, running, and dead letters. */
export async function readQueueDepths(queue: Pick<QueueCore, 'db' | 'jobs'>): Promise<QueueDepth[]> {
  const { rows } = await sql<QueueDepth>`
    with counts as (
      select coalesce(source_name, name) as job,
        count(*) filter (where name <> ${DEAD_LETTERS} and state < 'active' and start_after <= queue.job_now()) as ready,
        count(*) filter (where name <> ${DEAD_LETTERS} and state < 'active' and start_after > queue.job_now()) as deferred,
        count(*) filter (where name <> ${DEAD_LETTERS} and state = 'active') as active,
        count(*) filter (where name = ${DEAD_LETTERS}) as dead
      from queue.job
      group by 1
    )
    select job, coalesce(ready, 0) as ready, coalesce(deferred, 0) as deferred,
      coalesce(active, 0) as active, coalesce(dead, 0) as dead
    from unnest(${Object.keys(queue.jobs)}::text[]) job left join counts using (job)
    order by job`.execute(queue.db)
  return rows
}

/** Jobs that failed their last attempt within the last hour. */
export async function countNewDeadLetters(db: QueueCore['db']): Promise<number> {
  const { rows } = await sql<{ dead: number }>`
    select count(*) as dead from queue.job
    where name = ${DEAD_LETTERS} and created_on > queue.job_now() - interval '1 hour'`.execute(db)
  return rows[0]!.dead
}

/** How long the oldest job that could run has waited; null when none waits. */
export async function readOldestReadySeconds(db: QueueCore['db']): Promise<number | null> {
  const { rows } = await sql<{ seconds: number | null }>`
    select extract(epoch from queue.job_now() - min(start_after))::float8 as seconds
    from queue.job
    where name <> ${DEAD_LETTERS} and state < 'active' and start_after <= queue.job_now()`.execute(db)
  return rows[0]!.seconds
}
