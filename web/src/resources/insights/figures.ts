// The four figures, in words, with their definitions. Pure.
import type { Insights } from '#web/base/api/types.ts'
import { formatDuration } from '#web/base/ui/format.ts'
import { plural } from '#web/base/ui/status.ts'

export type Figure = { name: string; value: string; note: string; definition: string }

const MS_PER_DAY = 86_400_000

/** The first of `days` UTC days, today last. */
export function firstDay(days: number, now: Date): string {
  return new Date(now.getTime() - (days - 1) * MS_PER_DAY).toISOString().slice(0, 10)
}

export function figuresOf(insights: Insights): Figure[] {
  const { deployments, lead_time_seconds: lead, change_failure: failure, restore_seconds: restore } = insights
  return [
    {
      name: 'Deployments',
      value: String(deployments.count),
      note: `${Number(deployments.per_day.toFixed(2))} per day`,
      definition:
        'Deploys, not rollbacks, that activated a new commit on at least one server. Each counts once, on the UTC day of its last activation.',
    },
    {
      name: 'Lead time',
      value: durationOf(lead.p50),
      note: lead.samples === 0 ? 'No samples' : `9 of 10 at most ${durationOf(lead.p90)}`,
      definition:
        'From the commit to the last activation of its deployment: the median. Deployments whose commit has no valid date are left out.',
    },
    {
      name: 'Change failure rate',
      value: failure.rate === null ? '–' : `${Number((failure.rate * 100).toFixed(1))}%`,
      note: `${failure.failed} of ${plural(deployments.count, 'deployment')}`,
      definition:
        'Deployments that failed their health check, that Gantry reverted, or that were rolled back before the next one, divided by all deployments.',
    },
    {
      name: 'Time to restore',
      value: durationOf(restore.p50),
      note: [
        restore.samples === 0 ? 'No samples' : `9 of 10 at most ${durationOf(restore.p90)}`,
        ...(restore.open > 0 ? [`${restore.open} not restored yet`] : []),
      ].join(', '),
      definition:
        'From the first activation of a failed deployment until it was reverted, rolled back, or followed by a healthy deployment: the median.',
    },
  ]
}

function durationOf(seconds: number | null): string {
  if (seconds === null) return '–'
  const days = seconds / 86_400
  return days >= 2 ? `${Math.round(days)} days` : formatDuration(seconds * 1_000)
}

/** Since when there is something to count, if that is later than the range begins. */
export function recordedSince({
  from,
  history_since,
}: Pick<Insights, 'from' | 'history_since'>): string | undefined {
  return history_since.slice(0, 10) > from ? history_since : undefined
}
