import { sql } from 'kysely'
import { DEAD_LETTERS, type QueueCore } from './core.ts'

/** A job that failed permanently. It is stored for 30 days, with its payload, to be inspected. */
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
export async function listDeadLetters({ db }: QueueCore, limit: number): Promise<DeadLetter[]> {
  const { rows } = await sql<DeadLetter>`
    select id, source_name as job,
      array(select jsonb_object_keys(data)) as payload_keys,
      source_retry_count + 1 as attempts,
      coalesce(source_output ->> 'message', source_output -> 'value' ->> 'message') as error,
      source_created_on as enqueued_at, created_on as failed_at
    from queue.job
    where name = ${DEAD_LETTERS}
    order by created_on desc, id
    limit ${limit}`.execute(db)
  return rows
}
