import { sql } from 'kysely'
import type { Database } from '#platform/database/connect.ts'
import { type CountedRuns, type RunDay, summarizeDays } from './summarize-days.ts'

// How many runs ended on each day, and how long they took. What has settled is added up once, by a job; what came
// after is read from the actions themselves. Both together are exact at any time, however late the job is.

/** How many days are shown, today included. */
export const DAYS = 30

/** Every class is two hundredths longer than the one below: a median is off by one hundredth at most. */
const CLASS_RATIO = 1.02

const KEPT_DAYS = 60

/**
 * Adds up the runs that have ended since the last time. An end becomes visible at most a minute after the time it
 * bears, because transactions are limited to that (see connect.ts); five minutes are on the safe side.
 */
export async function countEndedRuns(db: Database, options: { settledMinutes?: number } = {}): Promise<void> {
  await db.transaction().execute(async (trx) => {
    const { rows } = await sql<{ until: string; next: string; is_due: boolean }>`
      select until, next, next > until as is_due from counted_runs, lateral (
        select (now() - ${options.settledMinutes ?? 5}::int * interval '1 minute')::timestamptz(3) as next) as moment
      for update of counted_runs`.execute(trx)
    const { until, next, is_due } = rows[0]!
    if (!is_due) return
    await sql`
      insert into run_days (environment_id, day, status, duration_class, runs)
      select a.environment_id, ${DAY}, a.status, ${DURATION_CLASS}, count(*) from actions a
      where a.completed_at >= ${until}::timestamptz and a.completed_at < ${next}::timestamptz
      group by 1, 2, 3, 4
      on conflict (environment_id, day, status, duration_class)
        do update set runs = run_days.runs + excluded.runs`.execute(trx)
    await trx.updateTable('counted_runs').set({ until: next }).execute()
    if (until.slice(0, 10) === next.slice(0, 10)) return
    await sql`delete from run_days where day < ${next}::date - ${KEPT_DAYS}::int`.execute(trx)
  })
}

const DAY = sql`(a.completed_at at time zone 'UTC')::date`

/** Only runs that came through say how long one takes; all others are in class 0. */
const DURATION_CLASS = sql`case when a.status = 'completed' then
  round(ln(greatest(extract(epoch from a.completed_at - a.started_at)::float8, 0.001)) / ln(${CLASS_RATIO}::float8))
  else 0 end::smallint`

/** The last days, oldest first, every one of them. */
export async function readRunDays(db: Database, environmentIds: readonly number[]): Promise<RunDay[]> {
  const { rows } = await sql<CountedRuns & { today: string }>`
    with counted as (
      select d.day, d.status, d.duration_class, d.runs from run_days d
      where d.environment_id = any(${environmentIds}::bigint[]) and d.day > current_date - ${DAYS}::int
      union all
      select ${DAY}, a.status, ${DURATION_CLASS}, 1 from actions a
      where a.completed_at >= (select until from counted_runs)
        and a.completed_at >= current_date - ${DAYS - 1}::int
        and a.environment_id = any(${environmentIds}::bigint[])
    )
    select current_date::text as today, day::text, status, duration_class, sum(runs)::bigint as runs
    from (select current_date) as here left join counted on true
    group by day, status, duration_class`.execute(db)
  const counted = rows.filter((row) => row.day !== null)
  return summarizeDays(counted, { today: rows[0]!.today, days: DAYS, classRatio: CLASS_RATIO })
}
