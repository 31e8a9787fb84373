import { sql } from 'kysely'
import { DEAD_LETTERS, type QueueCore, wakeWorkers } from './core.ts'

/** A job that failed for good. It is stored for 30 days, with its payload, to be inspected or redriven. */
export type DeadLetter = {
  id: string
  job: string
  /** The names of the payload's fields; the values may be secret. */
  payload_keys: string[]
  attempts: number
  error: string | null
  enqueued_at: string
  failed_at: string
}

/** Newest first. */
export async function listDeadLetters(
  queue: QueueCore,
  options: { limit: number; job?: string },
): Promise<DeadLetter[]> {
  const { rows } = await sql<DeadLetter>`
    select id, source_name as job,
      array(select jsonb_object_keys(data)) as payload_keys,
      source_retry_count + 1 as attempts,
      coalesce(source_output ->> 'message', source_output -> 'value' ->> 'message') as error,
      source_created_on as enqueued_at, created_on as failed_at
    from queue.job
    where name = ${DEAD_LETTERS} and source_name = coalesce(${options.job ?? null}, source_name)
    order by created_on desc, id
    limit ${options.limit}`.execute(queue.db)
  return rows
}

/** Turns dead letters into new jobs with a full retry budget, oldest first; returns how many. */
export async function redriveDeadLetters(queue: QueueCore, options: { job?: string } = {}): Promise<number> {
  const { job: sourceName } = options
  const moved = await queue.boss.redrive(DEAD_LETTERS, { sourceName })
  if (moved > 0) await wakeWorkers(queue.db, sourceName ? [sourceName] : Object.keys(queue.jobs))
  return moved
}
