import { Paper, VisuallyHidden } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { queryKeys } from '../api/queries.ts'
import { useApi, useRefetchOnActionEvents } from '../api/services.ts'
import type { FailingHook, Overview, OverviewRun } from '../api/types.ts'
import { SetupChecklist } from '../first-run/setup-checklist.tsx'
import { scopeFilters, scopeSearch, useScope } from '../scope/scope.ts'
import { Loaded, PageHeader } from '../ui/page.tsx'
import { SectionCard, StatusBadge } from '../ui/parts.tsx'
import { plural } from '../ui/status.ts'
import { Age, Duration, NextAttempt } from '../ui/time.tsx'
import { DurationChart, RunsChart } from './charts.tsx'
import classes from './overview.module.css'

const MIN_REFETCH_INTERVAL_MS = 1_500
const MAX_REFETCH_INTERVAL_MS = 15_000

export default function OverviewPage() {
  const api = useApi()
  const [scope] = useScope()
  useRefetchOnActionEvents(queryKeys.overview(), MIN_REFETCH_INTERVAL_MS)
  const query = useQuery({
    queryKey: queryKeys.overview(scope),
    refetchInterval: MAX_REFETCH_INTERVAL_MS,
    queryFn: ({ signal }) => api.get('/overview', { params: { query: scopeFilters(scope) }, signal }),
  })
  return (
    <>
      <PageHeader title="Overview" />
      <SetupChecklist />
      <Loaded query={query} what="overview">
        {(overview) => <OverviewDetails overview={overview} />}
      </Loaded>
    </>
  )
}

function OverviewDetails({ overview }: { overview: Overview }) {
  const { running, failures, deliveries, workers, queue } = overview
  const [scope] = useScope()
  const actions = (status: string) => `/actions${scopeSearch(scope, { status })}`
  const ready = queue.depths.reduce((total, depth) => total + depth.ready, 0)
  const dead = queue.depths.reduce((total, depth) => total + depth.dead, 0)
  const { failing, pending, failed_last_day: undelivered } = deliveries
  return (
    <>
      <dl className={classes.tiles}>
        <Tile name="Running" value={running.length} to={actions('in-progress')} />
        <Tile
          name="Failed (24 h)"
          value={failures.length}
          to={actions('failed')}
          isBad={failures.length > 0}
        />
        <Tile name="Failing hooks" value={failing.length} isBad={failing.length > 0} />
        <Tile name="Pending deliveries" value={pending} />
        <Tile name="Undelivered (24 h)" value={undelivered} isBad={undelivered > 0} />
        <Tile name="Workers online" value={workers.alive} isBad={workers.alive === 0} />
        <Tile name="Queue depth" value={ready} />
        {dead > 0 && <Tile name="Dead letters" value={dead} isBad />}
      </dl>
      <div className={`columns ${classes.sections}`}>
        <SectionCard id="running" title="Running">
          <Runs runs={running} empty="Nothing is running" />
        </SectionCard>
        <SectionCard id="failures" title="Failed (24 h)">
          <Runs runs={failures} empty="No failures in the last 24 hours" />
        </SectionCard>
        <SectionCard id="days" title="Runs per day">
          <RunsChart days={overview.runs_per_day} />
        </SectionCard>
        <SectionCard id="durations" title="Median duration">
          <DurationChart days={overview.median_duration_seconds_per_day} />
        </SectionCard>
      </div>
      {failing.length > 0 && (
        <SectionCard id="deliveries" title="Failing outgoing hooks">
          <ul className={`plain-list ${classes.list}`}>
            {failing.map((hook) => (
              <FailingHookItem key={hook.hook_id} hook={hook} />
            ))}
          </ul>
        </SectionCard>
      )}
    </>
  )
}

type TileProps = { name: string; value: number; to?: string; isBad?: boolean }

function Tile({ name, value, to, isBad }: TileProps) {
  return (
    <Paper withBorder px="md" py="xs" data-bad={isBad || undefined}>
      <dt className="dimmed">{to ? <Link href={to}>{name}</Link> : name}</dt>
      <dd className="numeric">
        {value >= 10_000 ? '10000+' : value}
        {isBad && <VisuallyHidden> (needs attention)</VisuallyHidden>}
      </dd>
    </Paper>
  )
}

function Runs({ runs, empty }: { runs: OverviewRun[]; empty: string }) {
  if (runs.length === 0) return <span className="dimmed">{empty}</span>
  return (
    <ul className={`plain-list ${classes.list}`}>
      {runs.map((run) => (
        <li key={run.id}>
          <StatusBadge status={run.status} label={run.status_reason_human_readable} />{' '}
          <Link href={`/actions/${run.id}`}>
            {run.pipeline.name} #{run.id}
          </Link>{' '}
          <span className="dimmed">
            {run.resource_name} · {run.project.name} / {run.environment.name} ·{' '}
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

function FailingHookItem({ hook }: { hook: FailingHook }) {
  const failures = hook.failures_in_a_row
  return (
    <li>
      <Link href={`/hooks/outgoing/${hook.hook_id}`}>{hook.name}</Link>{' '}
      {hook.disabled_at
        ? `disabled: ${hook.disabled_reason ?? 'failed for too long'}`
        : `failed ${failures === 1 ? 'once' : plural(failures, 'time')}`}
      {hook.failing_since && (
        <span className="dimmed">
          , first failure <Age of={hook.failing_since} />
        </span>
      )}
      {hook.open_until && <NextAttempt at={hook.open_until} />}
    </li>
  )
}
