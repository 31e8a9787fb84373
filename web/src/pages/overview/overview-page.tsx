import { useMediaQuery } from '@mantine/hooks'
import { LayoutDashboard, ShieldAlert } from 'lucide-react'
import { lazy, type ReactNode, Suspense } from 'react'
import { queryKeys, useGet, useRefetchOnActionEvents } from '#web/base/api/queries.ts'
import type { Overview } from '#web/base/api/types.ts'
import { useAnyPermission, useGrants } from '#web/base/session/permissions.ts'
import { useSession } from '#web/base/session/session.ts'
import { EmptyState, Loaded, PageHeader } from '#web/base/ui/page.tsx'
import { Pending, Together } from '#web/base/ui/together.tsx'
import { SetupChecklist } from '#web/pages/first-run/setup-checklist.tsx'
import { REFETCH } from '#web/resources/applications/use-card.ts'
import { useTheOrganization } from '#web/resources/gates/freezes.ts'
import { StopTheLine } from '#web/resources/gates/stop-the-line.tsx'
import { readScope, scopeFilters, scopeSearch, useScope, useSearch } from '#web/shared/scope/scope.ts'
import { ApplicationCards } from './application-cards.tsx'
import { Attention } from './attention.tsx'
import { Numbers } from './numbers.tsx'
import classes from './overview.module.css'
import { FailedNotifications, OverviewRuns, RecentDeployments, WaitingForYou } from './overview-lists.tsx'
import { useApplicationCards } from './use-application-cards.ts'

const StartHere = lazy(async () => ({
  default: (await import('#web/shared/scope/start-here.tsx')).StartHere,
}))

const MAX_REFETCH_INTERVAL_MS = 30_000

export default function OverviewPage() {
  const [scope] = useScope()
  const organization = useTheOrganization(scope)
  const { isInstanceAdmin } = useSession()
  const hasRole = useGrants().data?.length !== 0
  return (
    <>
      <PageHeader title="Overview">
        {organization !== undefined && <StopTheLine organization={organization} />}
      </PageHeader>
      <Together what="overview">
        <SetupChecklist />
        {hasRole ? (
          <LoadedOverview />
        ) : (
          !isInstanceAdmin && (
            <Suspense fallback={<Pending />}>
              <StartHere icon={LayoutDashboard} title="Nothing to see yet" text="" />
            </Suspense>
          )
        )}
      </Together>
    </>
  )
}

function LoadedOverview() {
  const [search, update] = useSearch()
  const scope = readScope(search)
  const q = search.get('q') ?? ''
  const page = Math.max(1, Math.trunc(Number(search.get('page'))) || 1)
  useRefetchOnActionEvents(queryKeys.overview(), REFETCH.everyMs, REFETCH.firstMs)
  const query = useGet(queryKeys.overview(scope), '/overview', {
    params: { query: scopeFilters(scope) },
    refetchInterval: MAX_REFETCH_INTERVAL_MS,
  })
  const cards = useApplicationCards(scope, q, page)
  const { allowed: seesRuns, reason } = useAnyPermission('action:view', scope)
  const to = (status: string) => `/actions${scopeSearch(scope, { status })}`
  return (
    <Loaded query={query} what="overview">
      {(overview) => (
        <Arranged
          attention={
            <>
              {overview.waiting_for_you.count > 0 && <WaitingForYou {...overview.waiting_for_you} />}
              {(seesRuns || overview.needs_attention.count > 0) && (
                <Attention {...overview.needs_attention} />
              )}
            </>
          }
          applications={<ApplicationCards query={cards} q={q} page={page} update={update} />}
          activity={
            seesRuns ? (
              <Activity overview={overview} to={to} />
            ) : (
              <EmptyState icon={ShieldAlert} title="You cannot see runs here">
                {reason}
              </EmptyState>
            )
          }
          numbers={
            <>
              {/* Without a time: the list filters by creation, and what failed today may have waited since yesterday. */}
              <Numbers overview={overview} seesRuns={seesRuns} failedTo={to('failed')} />
              {overview.deliveries.failed.length > 0 && (
                <FailedNotifications failed={overview.deliveries.failed} />
              )}
            </>
          }
        />
      )}
    </Loaded>
  )
}

type ActivityProps = { overview: Overview; to(status: string): string }

function Activity({ overview, to }: ActivityProps) {
  const { running, waiting, counts, recent_deployments } = overview
  return (
    <>
      <OverviewRuns title="Running" runs={running} count={counts.running} to={to('in-progress')}>
        Nothing is running
      </OverviewRuns>
      {counts.waiting > 0 && (
        <OverviewRuns title="Waiting" runs={waiting} count={counts.waiting} to={to('pending,waiting,queued')}>
          Nothing is waiting
        </OverviewRuns>
      )}
      <RecentDeployments deployments={recent_deployments} />
    </>
  )
}

type Part = 'attention' | 'applications' | 'activity' | 'numbers'

/** In two columns where there is room; else one below the other, what needs attention first. Tabbing follows what is seen. */
function Arranged({ attention, applications, activity, numbers }: Record<Part, ReactNode>) {
  const isWide = useMediaQuery('(min-width: 80em)', false, { getInitialValueInEffect: false })
  if (isWide)
    return (
      <div className={classes.arranged}>
        <div className={classes.column}>
          <div>{applications}</div>
          {numbers}
        </div>
        <div className={classes.column}>
          {attention}
          {activity}
        </div>
      </div>
    )
  return (
    <div className={classes.column}>
      {attention}
      <div>{applications}</div>
      {activity}
      {numbers}
    </div>
  )
}
