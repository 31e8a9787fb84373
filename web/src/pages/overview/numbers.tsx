// The numbers that no list on this page shows, and thirty days as charts.
import { Paper, VisuallyHidden } from '@mantine/core'
import { lazy, Suspense } from 'react'
import { Link } from 'wouter'
import type { Overview } from '#web/base/api/types.ts'
import { SectionCard } from '#web/base/ui/parts.tsx'
import classes from './overview.module.css'
import { countLabel } from './overview-lists.tsx'

const RunsChart = lazy(async () => ({ default: (await import('./charts.tsx')).RunsChart }))
const DurationChart = lazy(async () => ({ default: (await import('./charts.tsx')).DurationChart }))

/** `failedTo`: the list of failed runs. */
type NumbersProps = { overview: Overview; seesRuns: boolean; failedTo: string }

export function Numbers({ overview, seesRuns, failedTo }: NumbersProps) {
  const { counts, deliveries, workers, queue } = overview
  const ready = queue.depths.reduce((total, depth) => total + depth.ready, 0)
  const dead = queue.depths.reduce((total, depth) => total + depth.dead, 0)
  const { pending, failed_last_day: undelivered } = deliveries
  const { failed_last_day: failed, canceled_last_day: canceled } = counts
  return (
    <>
      <dl className={classes.tiles}>
        {seesRuns && (
          <>
            <Tile name="Failed (24 h)" value={failed} to={failedTo} isBad={failed > 0} />
            <Tile name="Canceled (24 h)" value={canceled} />
          </>
        )}
        <Tile name="Undelivered (24 h)" value={undelivered} isBad={undelivered > 0} />
        <Tile name="Pending deliveries" value={pending} />
        <Tile name="Workers online" value={workers.alive} isBad={workers.alive === 0} />
        <Tile name="Queue depth" value={ready} />
        {dead > 0 && <Tile name="Dead letters" value={dead} isBad />}
      </dl>
      {seesRuns && (
        <div className="columns">
          <SectionCard id="days" title="Runs per day">
            <Suspense fallback={<div className={classes.placeholder} />}>
              <RunsChart days={overview.runs_per_day} />
            </Suspense>
          </SectionCard>
          <SectionCard id="durations" title="Median duration">
            <Suspense fallback={<div className={classes.placeholder} />}>
              <DurationChart days={overview.median_duration_seconds_per_day} />
            </Suspense>
          </SectionCard>
        </div>
      )}
    </>
  )
}

type TileProps = { name: string; value: number; to?: string; isBad?: boolean }

function Tile({ name, value, to, isBad }: TileProps) {
  return (
    <Paper withBorder px="md" py="xs" className={classes.tile} data-bad={isBad || undefined}>
      <dt className="dimmed">
        {to ? (
          <Link href={to} className={classes.tileLink}>
            {name}
          </Link>
        ) : (
          name
        )}
      </dt>
      <dd className="numeric">
        {countLabel(value)}
        {isBad && <VisuallyHidden> (needs attention)</VisuallyHidden>}
      </dd>
    </Paper>
  )
}
