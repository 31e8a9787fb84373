import { sql } from 'kysely'
import { ANY_ID } from '#model/actions/partition.ts'
import type { Database } from '#platform/database/connect.ts'
import type { EnvironmentPolicy } from './policy.ts'
import { isFinal, type Outcome, RUNS_AT_ONCE, removeUnlessNeeded, repeatWalk } from './remove-runs.ts'
import type { Throttle } from './throttle.ts'

/** How many ids one step of a walk covers, in all environments together. */
const WINDOW = 5_000

/**
 * Removes the runs that ended longer ago than their environments keep them. Of all environments together, in the order of
 * their ids: neighbors are on the same pages of the disk, which are then written once and not again for every environment.
 */
export function removeOldRuns(
  db: Database,
  policies: readonly EnvironmentPolicy[],
  throttle: Throttle,
): Promise<number> {
  const limited = policies.filter(({ retention }) => retention.runs_days !== null)
  return repeatWalk((outcome) => removeFrom(db, limited, throttle, outcome), throttle.isOver)
}

/** From the oldest on; an environment is done at its first run that was created too recently. */
async function removeFrom(
  db: Database,
  policies: readonly EnvironmentPolicy[],
  throttle: Throttle,
  outcome: Outcome,
): Promise<void> {
  let open = policies
  for (let after = 0; open.length > 0 && !throttle.isOver(); ) {
    const rows = await nextRuns(db, open, after)
    const first = rows[0]
    if (!first) break
    after = first.window_end
    const old = rows.filter((row) => row.is_old).map((row) => row.id)
    for (let at = 0; at < old.length && !throttle.isOver(); at += RUNS_AT_ONCE) {
      const removed = await removeUnlessNeeded(db, old.slice(at, at + RUNS_AT_ONCE), outcome)
      if (removed > 0) await throttle.pause()
    }
    const done = new Set(rows.filter((row) => !row.may_be_old).map((row) => row.environment_id))
    open = open.filter(({ environmentId }) => !done.has(environmentId))
  }
}

type Row = { id: number; environment_id: number; is_old: boolean; may_be_old: boolean; window_end: number }

/** The runs of the environments in the next window that has any. Only the index of environments provides this order. */
async function nextRuns(db: Database, policies: readonly EnvironmentPolicy[], after: number): Promise<Row[]> {
  const limits = policies.map(({ environmentId, retention }) => ({
    environment_id: environmentId,
    days: retention.runs_days,
  }))
  const last = sql`(policy.environment_id, ${ANY_ID.upTo}::bigint)`
  const { rows } = await sql<Row>`
    with policy as materialized (
      select environment_id, now() - days * interval '1 day' as since
      from json_to_recordset(${JSON.stringify(limits)}::json) as p (environment_id bigint, days int)
    ), span as materialized (
      select min(next.id) as first, min(next.id) + ${WINDOW - 1}::bigint as last from policy, lateral (
        select a.id from actions a
        where (a.environment_id, a.id) > (policy.environment_id, ${after}::bigint) and (a.environment_id, a.id) <= ${last}
        order by a.environment_id, a.id limit 1) as next
    )
    select a.id, a.environment_id, span.last as window_end, a.created_at < policy.since as may_be_old,
      coalesce(a.completed_at < policy.since and ${isFinal}, false) as is_old
    from span, policy, lateral (
      select * from actions a
      where (a.environment_id, a.id) >= (policy.environment_id, span.first)
        and (a.environment_id, a.id) <= (policy.environment_id, span.last)
      order by a.environment_id, a.id limit ${WINDOW}::bigint) as a
    order by a.id`.execute(db)
  return rows
}
