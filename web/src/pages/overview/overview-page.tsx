import { Paper, VisuallyHidden } from '@mantine/core'
import { LayoutDashboard, ShieldAlert } from 'lucide-react'
import { lazy, Suspense } from 'react'
import { Link } from 'wouter'
import { queryKeys, useGet, useRefetchOnActionEvents } from '#web/base/api/queries.ts'
import type { FailingHook, Overview } from '#web/base/api/types.ts'
import { useAnyPermission, useGrants } from '#web/base/session/permissions.ts'
import { useSession } from '#web/base/session/session.ts'
import { EmptyState, Loaded, PageHeader } from '#web/base/ui/page.tsx'
import { SectionCard } from '#web/base/ui/parts.tsx'
import { Age, NextAttempt } from '#web/base/ui/time.tsx'
import { SetupChecklist } from '#web/pages/first-run/setup-checklist.tsx'
import { failureCount } from '#web/pages/hooks/outgoing/health.ts'
import { scopeFilters, scopeSearch, useScope } from '#web/shared/scope/scope.ts'
import { StartHere } from '#web/shared/scope/start-here.tsx'
import classes from './overview.module.css'
import { countLabel, FailedNotifications, NeedsAttention, OverviewRuns } from './overview-lists.tsx'

const MIN_REFETCH_INTERVAL_MS = 1_500
const MAX_REFETCH_INTERVAL_MS = 15_000

const RunsChart = lazy(async () => ({ default: (await import('./charts.tsx')).RunsChart }))
const DurationChart = lazy(async () => ({ default: (await import('./charts.tsx')).DurationChart }))

export default function OverviewPage() {
  const [scope] = useScope()
  useRefetchOnActionEvents(queryKeys.overview(), MIN_REFETCH_INTERVAL_MS)
  const query = useGet(queryKeys.overview(scope), '/overview', {
    params: { query: scopeFilters(scope) },
    refetchInterval: MAX_REFETCH_INTERVAL_MS,
  })
  const { isInstanceAdmin } = useSession()
  const hasRole = useGrants().data?.length !== 0
  return (
    <>
      <PageHeader title="Overview" />
      <SetupChecklist />
      {hasRole ? (
        <Loaded query={query} what="overview">
          {(overview) => <OverviewDetails overview={overview} />}
        </Loaded>
      ) : (
        !isInstanceAdmin && <StartHere icon={LayoutDashboard} title="Nothing to see yet" text="" />
      )}
    </>
  )
}

function OverviewDetails({ overview }: { overview: Overview }) {
  const { running, waiting, failures, counts, deliveries, workers, queue } = overview
  const [scope] = useScope()
  const { allowed: seesRuns, reason } = useAnyPermission('action:view', scope)
  const to = (filters: Record<string, string>) => `/actions${scopeSearch(scope, filters)}`
  const lists = {
    running: to({ status: 'in-progress' }),
    waiting: to({ status: 'pending,waiting,queued' }),
    // Without a time: the list filters by creation, and what failed today may have waited since yesterday.
    failed: to({ status: 'failed' }),
  }
  const failed = counts.failed_last_day
  const ready = queue.depths.reduce((total, depth) => total + depth.ready, 0)
  const dead = queue.depths.reduce((total, depth) => total + depth.dead, 0)
  const { failing, pending, failed: failedDeliveries, failed_last_day: undelivered } = deliveries
  return (
    <>
      <dl className={classes.tiles}>
        {seesRuns && (
          <>
            <Tile name="Running" value={counts.running} to={lists.running} />
            <Tile name="Waiting" value={counts.waiting} to={lists.waiting} />
            <Tile name="Failed (24 h)" value={failed} to={lists.failed} isBad={failed > 0} />
          </>
        )}
        <Tile name="Failing hooks" value={failing.length} isBad={failing.length > 0} />
        <Tile name="Pending deliveries" value={pending} />
        <Tile name="Undelivered (24 h)" value={undelivered} isBad={undelivered > 0} />
        <Tile name="Workers online" value={workers.alive} isBad={workers.alive === 0} />
        <Tile name="Queue depth" value={ready} />
        {dead > 0 && <Tile name="Dead letters" value={dead} isBad />}
      </dl>
      {overview.needs_attention.count > 0 && <NeedsAttention {...overview.needs_attention} />}
      {seesRuns ? (
        <>
          <div className={classes.runs}>
            <OverviewRuns title="Running" runs={running} count={counts.running} to={lists.running}>
              Nothing is running
            </OverviewRuns>
            <OverviewRuns title="Waiting" runs={waiting} count={counts.waiting} to={lists.waiting}>
              Nothing is waiting
            </OverviewRuns>
            <OverviewRuns
              title="Failed (24 h)"
              runs={failures}
              count={failed}
              to={lists.failed}
              all="all failed runs"
            >
              No failures in the last 24 hours
            </OverviewRuns>
          </div>
          <div className={`columns ${classes.sections}`}>
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
        </>
      ) : (
        <EmptyState icon={ShieldAlert} title="You cannot see runs here">
          {reason}
        </EmptyState>
      )}
      {failing.length > 0 && (
        <SectionCard id="deliveries" title="Failing outgoing hooks">
          <ul className={`plain-list ${classes.list}`}>
            {failing.map((hook) => (
              <FailingHookItem key={hook.hook_id} hook={hook} />
            ))}
          </ul>
        </SectionCard>
      )}
      {failedDeliveries.length > 0 && <FailedNotifications failed={failedDeliveries} count={undelivered} />}
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

function FailingHookItem({ hook }: { hook: FailingHook }) {
  const { health } = hook
  return (
    <li>
      <Link href={`/hooks/outgoing/${hook.hook_id}`}>{hook.name}</Link>{' '}
      {health.state === 'disabled'
        ? `disabled: ${hook.disabled_reason ?? 'failed for too long'}`
        : failureCount(health).toLowerCase()}
      <div className="dimmed">
        {health.failing_since && (
          <>
            First failure <Age of={health.failing_since} />
          </>
        )}
        {health.next_attempt_at && <NextAttempt at={health.next_attempt_at} />}
      </div>
    </li>
  )
}
