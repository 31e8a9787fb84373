import { type RawBuilder, sql } from 'kysely'
import type { Transaction } from '#platform/database/connect.ts'
import { WAKE_CHANNEL } from './core.ts'
import { TARGETS_JOB } from './jobs.ts'

// What scheduling does with the jobs of targets beyond enqueueing them. The group of a job is the name of the workers that
// may take it.

const TARGET_ID = sql`(data ->> 'target_id')::bigint`
const IS_WAITING = sql`name = ${TARGETS_JOB} and state < 'active'`

/** An expression: a job of this target waits or runs. */
export const hasJob = (targetId: RawBuilder<unknown>) => sql<boolean>`exists (
  select from queue.job where name = ${TARGETS_JOB} and state < 'completed' and ${TARGET_ID} = ${targetId})`

/** A query: the waiting jobs that only workers of one name may take, with the columns job_id, target_id and worker. */
export const ASSIGNED_JOBS = sql`
  select id as job_id, ${TARGET_ID} as target_id, group_id as worker
  from queue.job where ${IS_WAITING} and group_id is not null`

/** From now on only workers of this name take the job. The caller's transaction holds it. */
export async function assignJob(trx: Transaction, jobId: string, worker: string): Promise<void> {
  await sql`update queue.job set group_id = ${worker} where name = ${TARGETS_JOB} and id = ${jobId}`.execute(
    trx,
  )
}

/** Lets workers of another name, or any, take the assigned jobs of targets that no worker runs at the moment. */
export async function reassignJobs(
  trx: Transaction,
  targetIds: readonly number[],
  worker: string | null = null,
): Promise<void> {
  if (targetIds.length === 0) return
  await sql`
    with moved as (
      update queue.job set group_id = ${worker} where name = ${TARGETS_JOB} and id in (
        select id from queue.job
        where ${IS_WAITING} and group_id is not null and ${TARGET_ID} = any(${targetIds}::bigint[])
        for update skip locked)
      returning id
    )
    select pg_notify(${WAKE_CHANNEL}, ${TARGETS_JOB}) from moved limit 1`.execute(trx)
}

/** False when a worker has just fetched it. */
export async function removeWaitingJob(trx: Transaction, jobId: string): Promise<boolean> {
  const { rows } = await sql`
    delete from queue.job where name = ${TARGETS_JOB} and id in (
      select id from queue.job where ${IS_WAITING} and id = ${jobId} for update skip locked)
    returning id`.execute(trx)
  return rows.length > 0
}

/** The attempt that this job makes does not count toward its limit. The caller's transaction holds the job. */
export async function grantAttempt(trx: Transaction, jobId: string): Promise<void> {
  await sql`update queue.job set retry_limit = retry_limit + 1 where name = ${TARGETS_JOB} and id = ${jobId}`.execute(
    trx,
  )
}
