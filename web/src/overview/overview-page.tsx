import { Title } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useEffect } from 'react'
import { Link } from 'wouter'
import { useServices } from '../api/services.ts'
import type { Overview, OverviewRun } from '../api-types.ts'
import { Fault } from '../shell/fault.tsx'
import { Loading } from '../shell/loading.tsx'
import { PageTitle } from '../shell/page-title.tsx'
import { placeFilters, placeSearch } from '../shell/place.ts'
import { usePlace } from '../shell/use-place.ts'
import { Age, Duration } from '../words/age.tsx'
import { StatusBadge } from '../words/status.tsx'
import { NextTry } from '../words/telling-state.tsx'
import { DurationPlot, RunsPlot } from './day-plots.tsx'
import classes from './overview.module.css'

const READ_AT_MOST_EVERY_MS = 1_500
const READ_AT_LEAST_EVERY_MS = 15_000

export default function OverviewPage() {
  const { data, error, refetch } = useOverview()
  return (
    <>
      <PageTitle title="Overview" />
      <div className="page-head">
        <Title order={1} size="h2">
          Overview
        </Title>
      </div>
      {data ? (
        <Everything overview={data} />
      ) : error ? (
        <Fault error={error} what="overview" retry={refetch} />
      ) : (
        <Loading what="the overview" />
      )}
    </>
  )
}

function useOverview() {
  const { api, moves } = useServices()
  const queries = useQueryClient()
  const [place] = usePlace()
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    const renew = () => {
      timer ??= setTimeout(() => {
        timer = undefined
        void queries.invalidateQueries({ queryKey: ['overview'] })
      }, READ_AT_MOST_EVERY_MS)
    }
    const leave = moves.listen({ onMoves: renew, onGap: renew })
    return () => {
      clearTimeout(timer)
      leave()
    }
  }, [moves, queries])
  return useQuery({
    queryKey: ['overview', place],
    refetchInterval: READ_AT_LEAST_EVERY_MS,
    queryFn: ({ signal }) => api.ask('GET /overview', { query: placeFilters(place), signal }),
  })
}

function Everything({ overview }: { overview: Overview }) {
  const { running, failures, deliveries, workers, queue } = overview
  const [place] = usePlace()
  const actions = (status: string) => `/actions${placeSearch(place, { status })}`
  const ready = sum(queue.depths.map((depth) => depth.ready))
  const dead = sum(queue.depths.map((depth) => depth.dead))
  return (
    <>
      <dl className={classes.tiles}>
        <Tile name="Running now" value={running.length} to={actions('in-progress')} />
        <Tile
          name="Failed in a day"
          value={failures.length}
          to={actions('failed')}
          bad={failures.length > 0}
        />
        <Tile name="Hooks failing" value={deliveries.failing.length} bad={deliveries.failing.length > 0} />
        <Tile name="Deliveries waiting" value={deliveries.pending} />
        <Tile
          name="Given up in a day"
          value={deliveries.failed_last_day}
          bad={deliveries.failed_last_day > 0}
        />
        <Tile name="Workers alive" value={workers.alive} bad={workers.alive === 0} />
        <Tile name="Jobs ready" value={ready} />
        {dead > 0 && <Tile name="Dead letters" value={dead} bad />}
      </dl>
      <div className={classes.columns}>
        <Section id="running" title="Running now">
          <Runs runs={running} none="Nothing runs at the moment." />
        </Section>
        <Section id="failures" title="Failures of the last day">
          <Runs runs={failures} none="Nothing has failed in the last day." />
        </Section>
        <Section id="days" title="Runs per day">
          <RunsPlot days={overview.runs_per_day} />
        </Section>
        <Section id="durations" title="Median duration">
          <DurationPlot days={overview.median_duration_seconds_per_day} />
        </Section>
      </div>
      {deliveries.failing.length > 0 && (
        <Section id="deliveries" title="Receivers that cannot be told">
          <ul className={classes.list}>
            {deliveries.failing.map((hook) => (
              <li key={hook.hook_id}>
                <Link href={`/hooks/outgoing/${hook.hook_id}`}>{hook.name}</Link>{' '}
                {hook.disabled_at
                  ? `was switched off: ${hook.disabled_reason ?? 'it failed for too long'}`
                  : `failed ${hook.failures_in_a_row} times in a row`}
                {hook.failing_since && (
                  <span className="quiet">
                    , first <Age of={hook.failing_since} />
                  </span>
                )}
                {hook.open_until && <NextTry at={hook.open_until} />}
              </li>
            ))}
          </ul>
        </Section>
      )}
    </>
  )
}

type TileProps = { name: string; value: number; to?: string; bad?: boolean }

function Tile({ name, value, to, bad }: TileProps) {
  return (
    <div className="card" data-bad={bad || undefined}>
      <dt>{to ? <Link href={to}>{name}</Link> : name}</dt>
      <dd className="numbers">
        {value >= 10_000 ? '10000+' : value}
        {bad && <span className="hidden-words"> (look at this)</span>}
      </dd>
    </div>
  )
}

function Section({ id, title, children }: { id: string; title: string; children: ReactNode }) {
  return (
    <section className={`card ${classes.section}`} aria-labelledby={id}>
      <Title order={2} size="h5" id={id} mb="xs">
        {title}
      </Title>
      {children}
    </section>
  )
}

function Runs({ runs, none }: { runs: OverviewRun[]; none: string }) {
  if (runs.length === 0) return <p className="quiet">{none}</p>
  return (
    <ul className={classes.list}>
      {runs.map((run) => (
        <li key={run.id}>
          <StatusBadge status={run.status} reason={run.status_reason_human_readable} />{' '}
          <Link href={`/actions/${run.id}`}>
            {run.type_human_readable} {run.resource_name} #{run.id}
          </Link>{' '}
          <span className="quiet">
            {run.environment.name} of {run.project.name} ·{' '}
            {run.completed_at === null ? (
              <Duration from={run.started_at} to={null} />
            ) : (
              <Age of={run.completed_at} />
            )}
          </span>
        </li>
      ))}
    </ul>
  )
}

function sum(values: number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
