// Thirty days of runs.
import type { Overview } from '#web/base/api/types.ts'
import { BarChart } from '#web/base/ui/bar-chart.tsx'
import { formatDuration } from '#web/base/ui/format.ts'

export function RunsChart({ days }: { days: Overview['runs_per_day'] }) {
  const max = Math.max(1, ...days.map((day) => day.completed + day.failed + day.skipped))
  return (
    <BarChart
      caption="Runs per day"
      max={max}
      maxLabel={String(max)}
      series={[
        { name: 'completed', status: 'completed', values: days.map((day) => day.completed) },
        { name: 'failed', status: 'failed', values: days.map((day) => day.failed) },
        { name: 'skipped', status: 'skipped', values: days.map((day) => day.skipped) },
      ]}
      dates={days.map((day) => day.date)}
      format={String}
    />
  )
}

export function DurationChart({ days }: { days: Overview['median_duration_seconds_per_day'] }) {
  const max = Math.max(0.001, ...days.map((day) => day.seconds ?? 0))
  const format = (seconds: number | null) => (seconds === null ? 'no runs' : formatDuration(seconds * 1_000))
  return (
    <BarChart
      caption="Median duration per day"
      max={max}
      maxLabel={format(max)}
      series={[{ name: 'completed runs', status: 'in-progress', values: days.map((day) => day.seconds) }]}
      dates={days.map((day) => day.date)}
      format={format}
    />
  )
}
