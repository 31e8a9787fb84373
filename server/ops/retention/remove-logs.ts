import { sql } from 'kysely'
import { ANY_ID } from '#model/actions/partition.ts'
import type { Database } from '#platform/database/connect.ts'
import type { EnvironmentPolicy } from './policy.ts'
import type { Throttle } from './throttle.ts'

const BATCH = 200
const CHUNKS_AT_ONCE = 1_000

/** Removes the logs of runs that ended long ago; returns the number of runs. Each run is visited once, not in every pass. */
export async function removeOldLogs(
  db: Database,
  { environmentId, retention: { logs_days } }: EnvironmentPolicy,
  throttle: Throttle,
): Promise<number> {
  if (logs_days === null) return 0
  let from = await findProgress(db, environmentId)
  let removed = 0
  /** The oldest run that has to be visited again. */
  let unended: number | null = null
  while (!throttle.isOver()) {
    const rows = await nextRuns(db, environmentId, logs_days, from)
    const old = rows.filter((row) => row.is_old).map((row) => row.id)
    unended ??= rows.find((row) => !row.is_old && row.may_be_old)?.id ?? null
    const end = rows.find((row) => !row.may_be_old)
    removed += await removeLogsOf(db, old)
    const last = rows.at(-1)
    from = end?.id ?? (last ? last.id + 1 : from)
    await saveProgress(db, environmentId, unended ?? from)
    if (end || rows.length < BATCH) break
    await throttle.pause()
  }
  return removed
}

async function nextRuns(db: Database, environmentId: number, days: number, from: number) {
  const { rows } = await sql<{ id: number; is_old: boolean; may_be_old: boolean }>`
    select a.id, coalesce(a.completed_at < now() - ${days}::int * interval '1 day', false) as is_old,
      a.created_at < now() - ${days}::int * interval '1 day' as may_be_old
    from actions a
    where (a.environment_id, a.id) >= (${environmentId}::bigint, ${from}::bigint)
      and (a.environment_id, a.id) <= (${environmentId}::bigint, ${ANY_ID.upTo}::bigint)
    order by a.environment_id, a.id limit ${BATCH}::int`.execute(db)
  return rows
}

async function findProgress(db: Database, environmentId: number): Promise<number> {
  const { rows } = await sql<{ logs_before: number }>`
    select logs_before from retention_progress where environment_id = ${environmentId}`.execute(db)
  return rows[0]?.logs_before ?? 0
}

async function saveProgress(db: Database, environmentId: number, logsBefore: number): Promise<void> {
  await sql`
    insert into retention_progress (environment_id, logs_before) values (${environmentId}, ${logsBefore})
    on conflict (environment_id) do update set logs_before = excluded.logs_before
      where retention_progress.logs_before <> excluded.logs_before`.execute(db)
}

/** All logs of these actions, a few chunks at a time. Returns how many actions had any. */
export async function removeLogsOf(db: Database, actionIds: readonly number[]): Promise<number> {
  if (actionIds.length === 0) return 0
  const found = new Set<number>()
  for (;;) {
    const { rows } = await sql<{ target_id: number; action_id: number }>`
      with batch as materialized (
        select c.target_id, c.step_order, c.start_offset, t.action_id
        from targets t cross join lateral (
          select * from step_log_chunks where target_id = t.id limit ${CHUNKS_AT_ONCE}::int) as c
        where t.action_id = any(${actionIds}::bigint[]) limit ${CHUNKS_AT_ONCE}::int
      ), removed as (
        delete from step_log_chunks c using batch
        where c.target_id = batch.target_id and c.step_order = batch.step_order and c.start_offset = batch.start_offset
      )
      select target_id, action_id from batch`.execute(db)
    for (const { action_id } of rows) found.add(action_id)
    if (rows.length < CHUNKS_AT_ONCE) return found.size
  }
}
