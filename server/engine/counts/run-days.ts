import { sql } from 'kysely'
import type { Database } from '#platform/database/connect.ts'
import { oldestTransaction } from '#platform/database/earlier-transactions.ts'

// How many runs ended on each day, and how long they took. Older runs are added up once, by a job; newer ones are
// read from the actions themselves. The sum is exact at any time, however late the job is.

/** How many days are shown, including today. */
export const DAYS = 30

/** Each duration class is 2 % longer than the previous one: a median is off by at most 1 %. */
const CLASS_RATIO = 1.02

const RETENTION_DAYS = 60

/**
 * Adds up the runs that have ended since the last time; from then on a run may be removed. Up to five minutes ago, or up
 * to the start of the oldest transaction that still runs: it may store ends from its start on, and they become visible
 * later.
 */
export async function countEndedRuns(db: Database, options: { graceMinutes?: number } = {}): Promise<void> {
  await db.transaction().execute(async (trx) => {
    const { rows } = await sql<{ until: string; next: string; is_due: boolean }>`
      select until, next, next > until as is_due from counted_runs, lateral (
        select least(now() - ${options.graceMinutes ?? 5}::int * interval '1 minute', ${oldestTransaction})::timestamptz(3) - interval '1 ms' as next) as moment
      for update of counted_runs`.execute(trx)
    const { until, next, is_due } = rows[0]!
    if (!is_due) return
    await sql`
      insert into run_days (environment_id, day, status, duration_class, runs)
      select a.environment_id, ${DAY}, a.status, ${DURATION_CLASS}, count(*) from actions a
      where a.completed_at >= ${until}::timestamptz and a.completed_at < ${next}::timestamptz and ${NOT_CANCELED}
      group by 1, 2, 3, 4
      on conflict (environment_id, day, status, duration_class)
        do update set runs = run_days.runs + excluded.runs`.execute(trx)
    await trx.updateTable('counted_runs').set({ until: next }).execute()
    if (until.slice(0, 10) === next.slice(0, 10)) return
    await sql`delete from run_days where day < ${next}::date - ${RETENTION_DAYS}::int`.execute(trx)
  })
}

const DAY = sql`(a.completed_at at time zone 'UTC')::date`

/** A run that a person canceled says nothing about its pipeline. */
const NOT_CANCELED = sql`a.status_reason_code <> 'FAILED_CANCELLED'`

/** Only completed runs have a meaningful duration; all others are in class 0. */
const DURATION_CLASS = sql`case when a.status = 'completed' then
  round(ln(greatest(extract(epoch from a.completed_at - a.started_at)::float8, 0.001)) / ln(${CLASS_RATIO}::float8))
  else 0 end::smallint`

/** The last days, oldest first, without gaps. */
export async function readRunDays(db: Database, environmentIds: readonly number[]) {
  const { rows } = await sql<CountedRuns & { today: string }>`
    with counted as (
      select d.day, d.status, d.duration_class, d.runs from run_days d
      where d.environment_id = any(${environmentIds}::bigint[]) and d.day > current_date - ${DAYS}::int
      union all
      select ${DAY}, a.status, ${DURATION_CLASS}, 1 from actions a
      where a.completed_at >= (select until from counted_runs)
        and a.completed_at >= current_date - ${DAYS - 1}::int
        and a.environment_id = any(${environmentIds}::bigint[]) and ${NOT_CANCELED}
    )
    select current_date::text as today, day::text, status, duration_class, sum(runs)::bigint as runs
    from (select current_date) as here left join counted on true
    group by day, status, duration_class`.execute(db)
  const counted = rows.filter((row) => row.day !== null)
  return summarizeDays(counted, { today: rows[0]!.today, days: DAYS, classRatio: CLASS_RATIO })
}

/** How many runs of a day ended like this; completed ones after about `classRatio ** duration_class` seconds. */
export type CountedRuns = {
  day: string
  status: 'completed' | 'failed' | 'skipped'
  duration_class: number
  runs: number
}

const DAY_MS = 24 * 60 * 60 * 1_000

/** One entry per day up to today, oldest first, including days without runs. Pure. */
export function summarizeDays(
  counted: readonly CountedRuns[],
  { today, days, classRatio }: { today: string; days: number; classRatio: number },
) {
  const byDay = Map.groupBy(counted, ({ day }) => day)
  return Array.from({ length: days }, (_, index) => {
    const date = dayBefore(today, days - 1 - index)
    const ofDay = byDay.get(date) ?? []
    return {
      date,
      completed: countOf(ofDay, 'completed'),
      failed: countOf(ofDay, 'failed'),
      skipped: countOf(ofDay, 'skipped'),
      /** Of the completed ones; null when there was none. */
      median_duration_seconds: medianOf(
        ofDay.filter(({ status }) => status === 'completed'),
        classRatio,
      ),
    }
  })
}

function dayBefore(date: string, days: number): string {
  return new Date(Date.parse(date) - days * DAY_MS).toISOString().slice(0, 10)
}

function countOf(counted: readonly CountedRuns[], status: CountedRuns['status']): number {
  return counted.filter((one) => one.status === status).reduce((sum, { runs }) => sum + runs, 0)
}

/** The lower of the two in the middle when their number is even. */
function medianOf(completed: readonly CountedRuns[], classRatio: number): number | null {
  const middle = countOf(completed, 'completed') / 2
  let passed = 0
  for (const { duration_class, runs } of completed.toSorted((a, b) => a.duration_class - b.duration_class)) {
    passed += runs
    if (passed >= middle) return Number((classRatio ** duration_class).toPrecision(3))
  }
  return null
}
