import { sql } from 'kysely'
import { uncountActions } from '#engine/counts/action-blocks.ts'
import type { Database, Transaction } from '#platform/database/connect.ts'
import { removeLogsOf } from './remove-logs.ts'

/** How many runs one transaction removes. */
export const RUNS_AT_ONCE = 500

export type Outcome = { removed: number; kept: number }

/**
 * Walks until nothing is left to remove: a run that another one names as its parent or as the run that it retries can only
 * go after that one. Returns how many were removed.
 */
export async function repeatWalk(
  walk: (outcome: Outcome) => Promise<void>,
  isOver: () => boolean,
): Promise<number> {
  for (let total = 0; ; ) {
    const outcome = { removed: 0, kept: 0 }
    await walk(outcome)
    total += outcome.removed
    if (outcome.removed === 0 || outcome.kept === 0 || isOver()) return total
  }
}

/**
 * Whether nothing of a run is expected any more: it ended at least an hour ago, so that nobody still watches it, and it is
 * counted in the statistics of its day.
 */
export const isFinal = sql`a.completed_at < (select least(until, now() - interval '1 hour') from counted_runs)`

/** Removes those of the runs that nothing needs, and counts them; returns how many were removed. */
export async function removeUnlessNeeded(db: Database, ids: number[], outcome: Outcome): Promise<number> {
  const removed = await removeSome(db, ids)
  outcome.removed += removed
  outcome.kept += ids.length - removed
  return removed
}

async function removeSome(db: Database, ids: number[]): Promise<number> {
  const removable = await findRemovable(db, ids)
  if (removable.length === 0) return 0
  // Before and apart from the rest: logs may be large, and the transaction should be short.
  await removeLogsOf(db, removable)
  return db.transaction().execute(async (trx) => {
    const locked = await findRemovable(trx, removable, { lock: true })
    await removeRuns(trx, locked)
    return locked.length
  })
}

/**
 * Those that nothing needs: no run that names it, no delivery that is pending, no release that is live or may be on a disk.
 * The live run of a removed application stays as well: its row still refers to it.
 */
async function findRemovable(db: Database, ids: number[], { lock = false } = {}): Promise<number[]> {
  if (ids.length === 0) return []
  const { rows } = await sql<{ id: number }>`
    with deploys as materialized (
      select a.id, a.release_name, p.application_id from actions a join pipelines p on p.id = a.pipeline_id
      where a.id = any(${ids}::bigint[]) and a.type = 'deploy'
    ), made as materialized (
      select id, application_id, release_name from deploys where release_name is not null union
      select deploys.id, application_id, t.release_name from deploys join targets t on t.action_id = deploys.id
      where t.release_name is not null
    ), needed as materialized (
      select made.id from made join applications app on app.id = made.application_id and app.deleted_at is null
      where exists (select from live_releases live
          where live.application_id = made.application_id and live.release_name = made.release_name)
        or exists (select from unknown_live_releases unknown where unknown.application_id = made.application_id
          and made.release_name in (unknown.last_release_name, unknown.candidate_release_name))
        or exists (select from releases_on_disk d join servers s on s.id = d.server_id and s.deleted_at is null
          where d.application_id = made.application_id and d.release_name = made.release_name)
    )
    select a.id from actions a where a.id = any(${ids}::bigint[])
      and not exists (select from actions child where child.parent_id = a.id)
      and not exists (select from actions again where again.retry_of = a.id)
      and not exists (select from deliveries d where d.action_id = a.id and d.state = 'pending')
      and not exists (select from live_releases where action_id = a.id)
      and not exists (select from unknown_live_releases unknown
        where a.id in (unknown.last_action_id, unknown.candidate_action_id))
      and not exists (select from applications where live_action_id = a.id)
      and a.id not in (select id from needed)
    order by a.id ${lock ? sql`for update of a skip locked` : sql``}`.execute(db)
  return rows.map((row) => row.id)
}

/**
 * With everything that belongs to them. Records of calls and deliveries have a limit of their own. No foreign key looks for
 * moves and logs that are left over: both are only written under a lock on their target, which is taken here first.
 */
async function removeRuns(trx: Transaction, ids: number[]): Promise<void> {
  if (ids.length === 0) return
  await uncountActions(trx, ids)
  const { rows: targets } = await sql<{ id: number }>`
    select id from targets where action_id = any(${ids}::bigint[]) for update`.execute(trx)
  const targetIds = targets.map((target) => target.id)
  await sql`delete from step_log_chunks where target_id = any(${targetIds}::bigint[])`.execute(trx)
  await sql`delete from detached_steps where target_id = any(${targetIds}::bigint[])`.execute(trx)
  await sql`delete from target_moves where target_id = any(${targetIds}::bigint[])`.execute(trx)
  await sql`delete from targets where id = any(${targetIds}::bigint[])`.execute(trx)
  await sql`delete from deliveries where action_id = any(${ids}::bigint[])`.execute(trx)
  await sql`delete from status_checks where action_id = any(${ids}::bigint[])`.execute(trx)
  await sql`delete from events where action_id = any(${ids}::bigint[])`.execute(trx)
  await sql`delete from actions where id = any(${ids}::bigint[])`.execute(trx)
}
