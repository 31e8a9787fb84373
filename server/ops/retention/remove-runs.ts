import { sql } from 'kysely'
import { ANY_ID, newestInPartition } from '#model/actions/partition.ts'
import type { Database, Transaction } from '#platform/database/connect.ts'
import { STATUSES } from '#platform/vocabulary.ts'
import { uncountActions } from '#views/actions/action-blocks.ts'
import type { Pace } from './pace.ts'
import type { EnvironmentPolicy } from './policy.ts'
import { removeLogsOf } from './remove-logs.ts'

const BATCH = 200

const ENDED = ['completed', 'failed', 'skipped'] as const

type Pipeline = { id: number; application_id: number | null }

/**
 * Removes the runs of an environment that have ended and are older than its limits. A run that another one names as its
 * parent or as the run that it retries can only go after that one, so the pipelines are visited until nothing is left to
 * remove. Returns how many were removed.
 */
export async function removeOldRuns(
  db: Database,
  { environmentId, retention }: EnvironmentPolicy,
  pace: Pace,
): Promise<number> {
  const { runs_days: days, runs_per_pipeline: perPipeline } = retention
  if (days === null && perPipeline === null) return 0
  const pipelines = await db
    .selectFrom('pipelines')
    .select(['id', 'application_id'])
    .where('environment_id', '=', environmentId)
    .orderBy('id', 'desc')
    .execute()
  let total = 0
  for (;;) {
    let removed = 0
    let kept = 0
    for (const pipeline of pipelines) {
      const oldestKept = perPipeline === null ? null : await oldestOfNewest(db, pipeline.id, perPipeline)
      if (days === null && oldestKept === null) continue
      for (const status of ENDED) {
        const outcome = await removeFrom(db, { pipeline, status, days, oldestKept }, pace)
        removed += outcome.removed
        kept += outcome.kept
      }
    }
    total += removed
    if (removed === 0 || kept === 0 || pace.isOver()) return total
  }
}

/** The id of the oldest of the newest runs of a pipeline; null when there are not that many. */
async function oldestOfNewest(db: Database, pipelineId: number, count: number): Promise<number | null> {
  const heads = newestInPartition(['pipeline_id', 'status'], { ids: ANY_ID, limit: count })
  const { rows } = await sql<{ id: number | null }>`
    select case when count(*) = ${count}::bigint then min(id) end as id from (
      select heads.id from (select ${pipelineId}::bigint as pipeline_id, status
        from unnest(${Object.keys(STATUSES)}::text[]) as status) as partition, lateral ${heads} as heads
      order by heads.id desc limit ${count}::bigint) as newest`.execute(db)
  return rows[0]!.id
}

type Walk = {
  pipeline: Pipeline
  status: (typeof ENDED)[number]
  days: number | null
  oldestKept: number | null
}

type Outcome = { removed: number; kept: number }

/** From the oldest on, up to the first that was created too recently. */
async function removeFrom(db: Database, walk: Walk, pace: Pace): Promise<Outcome> {
  const outcome = { removed: 0, kept: 0 }
  let after = 0
  while (!pace.isOver()) {
    const rows = await nextRuns(db, walk, after)
    const old = rows.filter((row) => row.is_old).map((row) => row.id)
    const removed = await removeUnlessNeeded(db, walk.pipeline, old)
    outcome.removed += removed
    outcome.kept += old.length - removed
    const last = rows.at(-1)
    if (rows.length < BATCH || !last?.may_be_old) return outcome
    after = last.id
    if (removed > 0) await pace.pause()
  }
  return outcome
}

/**
 * `is_old`: beyond a limit, ended at least an hour ago, so that nobody still watches it, and counted in the statistics of
 * its day. `may_be_old`: later runs may be, too.
 */
async function nextRuns(db: Database, { pipeline, status, days, oldestKept }: Walk, after: number) {
  const isOld = (time: string) => sql`(${sql.ref(time)} < now() - ${days}::int * interval '1 day'
    or a.id < ${oldestKept}::bigint) is true`
  // Only the index of pipeline and status provides this order (see model/actions/partition.ts).
  const { rows } = await sql<{ id: number; is_old: boolean; may_be_old: boolean }>`
    select a.id, ${isOld('a.completed_at')}
        and a.completed_at < (select least(until, now() - interval '1 hour') from counted_runs) as is_old,
      ${isOld('a.created_at')} as may_be_old
    from actions a
    where (a.pipeline_id, a.status, a.id) > (${pipeline.id}::bigint, ${status}::text, ${after}::bigint)
      and (a.pipeline_id, a.status, a.id) <= (${pipeline.id}::bigint, ${status}::text, ${ANY_ID.upTo}::bigint)
    order by a.pipeline_id, a.status, a.id limit ${BATCH}::int`.execute(db)
  return rows
}

async function removeUnlessNeeded(db: Database, pipeline: Pipeline, ids: number[]): Promise<number> {
  const removable = await findRemovable(db, pipeline, ids)
  if (removable.length === 0) return 0
  // Before and apart from the rest: logs may be large, and the transaction should be short.
  await removeLogsOf(db, removable)
  return db.transaction().execute(async (trx) => {
    const locked = await findRemovable(trx, pipeline, removable, { lock: true })
    await removeRuns(trx, locked)
    return locked.length
  })
}

/**
 * Those that nothing needs: no run that names it, no delivery that is pending, no release that is live or may be on a disk.
 * The live run of a removed application stays as well: its row still refers to it.
 */
async function findRemovable(
  db: Database,
  { application_id }: Pipeline,
  ids: number[],
  { lock = false } = {},
): Promise<number[]> {
  if (ids.length === 0) return []
  const { rows } = await sql<{ id: number }>`
    select a.id from actions a where a.id = any(${ids}::bigint[])
      and not exists (select from actions child where child.parent_id = a.id)
      and not exists (select from actions again where again.retry_of = a.id)
      and not exists (select from deliveries d where d.action_id = a.id and d.state = 'pending')
      and not exists (select from applications where live_action_id = a.id)
      and (a.type <> 'deploy' or not exists (
        select from (
          select a.release_name as name union all
          select t.release_name from targets t where t.action_id = a.id) as made
        where made.name = (
            select live.release_name from applications app join actions live on live.id = app.live_action_id
            where app.id = ${application_id} and app.deleted_at is null)
          or exists (
            select from releases_on_disk d join servers s on s.id = d.server_id and s.deleted_at is null
            join applications app on app.id = d.application_id and app.deleted_at is null
            where d.application_id = ${application_id} and d.release_name = made.name)))
    order by a.id ${lock ? sql`for update of a skip locked` : sql``}`.execute(db)
  return rows.map((row) => row.id)
}

/** With everything that belongs to them. Records of calls and deliveries have a limit of their own. */
async function removeRuns(trx: Transaction, ids: number[]): Promise<void> {
  if (ids.length === 0) return
  await uncountActions(trx, ids)
  const targets = sql`(select id from targets where action_id = any(${ids}::bigint[]))`
  await sql`delete from step_log_chunks where target_id in ${targets}`.execute(trx)
  await sql`delete from target_moves where target_id in ${targets}`.execute(trx)
  await sql`delete from targets where action_id = any(${ids}::bigint[])`.execute(trx)
  await sql`delete from deliveries where action_id = any(${ids}::bigint[])`.execute(trx)
  await sql`delete from events where action_id = any(${ids}::bigint[])`.execute(trx)
  await sql`delete from actions where id = any(${ids}::bigint[])`.execute(trx)
}
