/** So many runs of a day ended like this; for completed ones, after about `classRatio ** duration_class` seconds. */
export type CountedRuns = {
  day: string
  status: 'completed' | 'failed' | 'skipped'
  duration_class: number
  runs: number
}

export type RunDay = {
  date: string
  completed: number
  failed: number
  skipped: number
  /** Of the completed ones; null when there was none. */
  median_duration_seconds: number | null
}

const DAY_MS = 24 * 60 * 60 * 1_000

/** One entry per day up to today, oldest first, also for days on which nothing ran. Pure. */
export function summarizeDays(
  counted: readonly CountedRuns[],
  { today, days, classRatio }: { today: string; days: number; classRatio: number },
): RunDay[] {
  const byDay = Map.groupBy(counted, ({ day }) => day)
  return Array.from({ length: days }, (_, index) => {
    const date = dayBefore(today, days - 1 - index)
    const ofDay = byDay.get(date) ?? []
    return {
      date,
      completed: countOf(ofDay, 'completed'),
      failed: countOf(ofDay, 'failed'),
      skipped: countOf(ofDay, 'skipped'),
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

/** The lower one of the two in the middle when their number is even. */
function medianOf(completed: readonly CountedRuns[], classRatio: number): number | null {
  const middle = countOf(completed, 'completed') / 2
  let passed = 0
  for (const { duration_class, runs } of completed.toSorted((a, b) => a.duration_class - b.duration_class)) {
    passed += runs
    if (passed >= middle) return Number((classRatio ** duration_class).toPrecision(3))
  }
  return null
}
