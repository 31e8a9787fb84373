import { Badge } from '@mantine/core'
import { Link } from 'wouter'
import type { FailedNotification, Overview, OverviewRun, RecentDeployment } from '#web/base/api/types.ts'
import { CommitLink, subjectOf } from '#web/base/ui/commit-link.tsx'
import { SectionCard, StatusBadge } from '#web/base/ui/parts.tsx'
import { kindOf, plural } from '#web/base/ui/status.ts'
import { Age, Duration } from '#web/base/ui/time.tsx'
import { runTitle, useRunTitle } from '#web/resources/pipelines/pipeline-names.ts'
import classes from './overview.module.css'

type OverviewRunsProps = {
  title: string
  runs: OverviewRun[]
  /** How many there are, of which `runs` are the first; 10000 means 10000 or more. */
  count: number
  /** The list with the same filter. */
  to: string
  /** What it says without any. */
  children: string
}

/** The first of the runs in some state, how many there are, and a link to all of them. */
export function OverviewRuns({ title, runs, count, to, children }: OverviewRunsProps) {
  return (
    <SectionCard
      id={title.toLowerCase()}
      title={title}
      action={
        count > 0 && (
          <Link href={to} className={classes.count}>
            {countLabel(count)} {title.toLowerCase()}
          </Link>
        )
      }
    >
      {runs.length === 0 ? (
        <span className={`dimmed ${classes.none}`}>{children}</span>
      ) : (
        <ul className={`plain-list ${classes.list}`}>
          {runs.map((run) => (
            <RunItem key={run.id} run={run} />
          ))}
        </ul>
      )}
    </SectionCard>
  )
}

export function countLabel(count: number): string {
  return count >= 10_000 ? '10000+' : String(count)
}

function RunItem({ run }: { run: OverviewRun }) {
  return (
    <li>
      <div className={classes.run}>
        <Link href={`/actions/${run.id}`}>
          {runTitle(run.pipeline.name, run.id, kindOf(run.deployment_type))}
        </Link>{' '}
        <StatusBadge status={run.status} label={run.status_reason_human_readable} />
      </div>
      <div className="dimmed">
        {run.resource_name} · {run.project.name} / {run.environment.name} ·{' '}
        <Duration from={run.started_at ?? run.created_at} to={null} />
      </div>
    </li>
  )
}

/** Runs that this person may approve. */
export function WaitingForYou({ count, items }: Overview['waiting_for_you']) {
  return (
    <SectionCard id="waiting-for-you" title="Waiting for you">
      <ul className={`plain-list ${classes.list}`}>
        {items.map((run) => (
          <RunItem key={run.id} run={run} />
        ))}
      </ul>
      {count > items.length && (
        <div className={`dimmed ${classes.more}`}>
          The latest {items.length} of {count > 100 ? '100+' : count}
        </div>
      )}
    </SectionCard>
  )
}

/** What became live lately, and what of it was reverted or failed. */
export function RecentDeployments({ deployments }: { deployments: RecentDeployment[] }) {
  return (
    <SectionCard id="deployments" title="Recent deployments">
      {deployments.length === 0 ? (
        <span className={`dimmed ${classes.none}`}>Nothing has been deployed yet</span>
      ) : (
        <ul className={`plain-list ${classes.list}`}>
          {deployments.map((one) => (
            <DeploymentItem key={one.action_id} deployment={one} />
          ))}
        </ul>
      )}
    </SectionCard>
  )
}

function DeploymentItem({ deployment }: { deployment: RecentDeployment }) {
  const { action_id, application, commit, kind, status, servers, reverted_servers, activated_at } = deployment
  return (
    <li>
      <div className={classes.run}>
        <Link href={`/actions/${action_id}`}>
          <bdi className={classes.clamped}>{application.name}</bdi> #{action_id}
        </Link>
        {kind !== 'deploy' && (
          <Badge size="sm" variant="light" color="gray" tt="none">
            {kind === 'rollback' ? 'Rollback' : 'Redeploy'}
          </Badge>
        )}
        {status !== 'completed' && (
          <StatusBadge status={status} label={deployment.status_reason_human_readable} />
        )}
      </div>
      {commit && (
        <div className={classes.commit}>
          <CommitLink {...commit} /> <bdi>{subjectOf(commit.message)}</bdi>
        </div>
      )}
      <div className="dimmed">
        {plural(servers, 'server')}
        {reverted_servers > 0 && `, reverted on ${reverted_servers}`} · <Age of={activated_at} />
      </div>
    </li>
  )
}

/** Runs whose receivers do not know how they ended, the latest. */
export function FailedNotifications({ failed }: { failed: FailedNotification[] }) {
  return (
    <SectionCard id="undelivered" title="Failed notifications (24 h)">
      <ul className={`plain-list ${classes.list}`}>
        {failed.map(({ hook_id, hook_name, action_id, last_request_id, last_error, failed_at }) => (
          <li key={last_request_id}>
            <NotifiedRun id={action_id} /> <Link href={`/hooks/outgoing/${hook_id}`}>{hook_name}</Link>
            <div className="dimmed wrap">
              {last_error} {failed_at && <Age of={failed_at} />}
            </div>
          </li>
        ))}
      </ul>
    </SectionCard>
  )
}

function NotifiedRun({ id }: { id: number }) {
  return <Link href={`/actions/${id}#notifications`}>{useRunTitle(id)}</Link>
}
