import * as t from '#platform/http/schemas.ts'

const NumberOrNull = (description: string) =>
  t.Unsafe<number | null>({ type: ['number', 'null'], minimum: 0, description })
const Day = (description: string) => t.Text({ format: 'date', description })

const percentiles = (of: string) => ({
  p50: t.described(t.IntegerOrNull(), `The median of ${of}, in seconds; null without samples.`),
  p90: t.described(
    t.IntegerOrNull(),
    `Nine out of ten took at most this long, in seconds; null without samples.`,
  ),
})

const insightDaySchema = t.namedObject('InsightDay', {
  date: Day('The day, in UTC.'),
  deployments: t.Count('Deployments whose last activation was on this day.'),
  rollbacks: t.Count('Rollbacks whose last activation was on this day.'),
  reverts: t.Count('Runs that Gantry reverted on this day.'),
})

export const insightsSchema = t.namedObject('Insights', {
  from: Day('The first day, in UTC.'),
  to: Day('The last day, in UTC.'),
  history_since: t.Time(
    'Since when deployments are recorded: since the application was created, or since the oldest run that was still stored when Gantry began to record them. Of an environment: that of its application with the longest history.',
  ),
  deployments: t.Part(
    'Deploys, not rollbacks, that activated a new commit on at least one server; they count on the day of their last activation.',
    {
      count: t.Count('How many there were.'),
      per_day: t.Unsafe<number>({
        type: 'number',
        minimum: 0,
        description: 'How many there were per day of the range, to four decimals.',
      }),
    },
  ),
  lead_time_seconds: t.Part(
    'From the commit to the last activation of the deployment. A commit that is dated later took no time.',
    {
      ...percentiles('the lead times'),
      samples: t.Count('Deployments whose commit has a date.'),
    },
  ),
  change_failure: t.Part(
    'Deployments that ended with `FAILED_REVERTED`, `FAILED_REVERT` or `FAILED_UNHEALTHY`, that were reverted on a server, or that were rolled back before the next deployment.',
    {
      failed: t.Count('How many there were.'),
      rate: NumberOrNull('Their share of all deployments, from 0 to 1, to four decimals; null without any.'),
    },
  ),
  restore_seconds: t.Part(
    'From the first activation of a failed deployment until its revert, a rollback or the next healthy deployment was complete.',
    {
      ...percentiles('the times to restore'),
      samples: t.Count('Failed deployments after which that happened.'),
      open: t.Count('Failed deployments after which that has not happened yet.'),
    },
  ),
  days: t.List(t.ref(insightDaySchema), 'Every day of the range, first to last.'),
})
export type Insights = t.Static<typeof insightsSchema>

export const insightSchemas = [insightDaySchema, insightsSchema]
