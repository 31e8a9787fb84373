import { sql } from 'kysely'
import type { Database } from '#platform/database/connect.ts'
import { computeInsights, type DayRange, type SwitchingRun } from './compute-insights.ts'
import type { Insights } from './schemas.ts'

/** Of one application, or of everything in an environment, applications that were removed included. */
export type InsightsSubject = { column: 'application_id' | 'environment_id'; id: number }

/** Today, by the clock of the database, and since when deployments of the subject are recorded. */
export async function readHistory(db: Database, { column, id }: InsightsSubject) {
  const since = sql`coalesce(app.deployments_since, app.created_at)`
  const oldest =
    column === 'application_id'
      ? sql`(select ${since} from applications app where app.id = ${id})`
      : sql`(select coalesce(min(${since}), e.created_at) from environments e
          left join applications app on app.environment_id = e.id where e.id = ${id} group by e.id)`
  const { rows } = await sql<{ today: string; history_since: string }>`
    select current_date::text as today, ${oldest} as history_since`.execute(db)
  return rows[0]!
}

export async function readInsights(
  db: Database,
  subject: InsightsSubject,
  range: DayRange,
): Promise<Omit<Insights, 'history_since'>> {
  return computeInsights(await findRuns(db, subject, range), range)
}

const milliseconds = (column: string) => sql`(extract(epoch from d.${sql.ref(column)}) * 1000)::bigint`

const LAST = sql`greatest(d.last_activated_at, d.reverted_at)`

/**
 * Those of the range, and for each application what came after it until a healthy deployment was complete: it restored what
 * failed before, unless something else that ended earlier did. That is in here, too, because it was activated before it ended.
 */
async function findRuns(
  db: Database,
  { column, id }: InsightsSubject,
  { from, to }: DayRange,
): Promise<SwitchingRun[]> {
  const afterRange = sql`(${to}::date + 1)::timestamptz`
  const { rows } = await sql<SwitchingRun>`
    select d.action_id as "actionId", d.application_id as "applicationId", d.is_rollback as "isRollback",
      d.has_new_commit as "hasNewCommit", ${milliseconds('committed_at')} as "committedAt",
      d.server_ids as "serverIds", d.reverted_server_ids as "revertedServerIds",
      ${milliseconds('first_activated_at')} as "firstActivatedAt",
      ${milliseconds('last_activated_at')} as "lastActivatedAt", ${milliseconds('reverted_at')} as "revertedAt",
      d.result, ${milliseconds('ended_at')} as "endedAt"
    from (
      select distinct d.application_id from deployments d
      where ${sql.ref(`d.${column}`)} = ${id} and ${LAST} >= ${from}::date and d.last_activated_at < ${afterRange}
    ) as active
    left join lateral (
      select greatest(d.last_activated_at, d.ended_at) as at from deployments d
      where d.application_id = active.application_id and ${LAST} >= ${afterRange}
        and d.last_activated_at >= ${afterRange} and d.result = 'COMPLETED' and d.has_new_commit and not d.is_rollback
      order by ${LAST} limit 1
    ) as healthy on true
    cross join lateral (
      select * from deployments d
      where d.application_id = active.application_id and ${LAST} >= ${from}::date
        and d.last_activated_at <= coalesce(healthy.at, 'infinity')
    ) as d`.execute(db)
  return rows
}
