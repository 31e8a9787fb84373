import { Link } from 'wouter'
import type { FailedNotification, Overview, OverviewRun } from '#web/base/api/types.ts'
import { SectionCard, StatusBadge } from '#web/base/ui/parts.tsx'
import { kindOf } from '#web/base/ui/status.ts'
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
  /** What that list has, if it has more than is counted. */
  all?: string
  /** What it says without any. */
  children: string
}

/** The first of the runs in some state. When there are more, it says so and links to all of them. */
export function OverviewRuns({ title, runs, count, to, all, children }: OverviewRunsProps) {
  return (
    <SectionCard id={title.split(' ')[0]!.toLowerCase()} title={title}>
      {runs.length === 0 ? (
        <span className={`dimmed ${classes.none}`}>{children}</span>
      ) : (
        <ul className={`plain-list ${classes.list}`}>
          {runs.map((run) => (
            <RunItem key={run.id} run={run} />
          ))}
        </ul>
      )}
      {count > runs.length && runs.length > 0 && (
        <div className={classes.more}>
          <Link href={to}>
            {runs.length} of {countLabel(count)}
            {all && `; ${all}`}
          </Link>
        </div>
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
        {run.resource_name} · {run.project.name} / {run.environment.name} · <RunTime run={run} />
      </div>
    </li>
  )
}

/** When it ended, else how long it has been running or waiting. */
function RunTime({ run: { started_at, completed_at, created_at } }: { run: OverviewRun }) {
  if (completed_at !== null) return <Age of={completed_at} />
  return <Duration from={started_at ?? created_at} to={null} />
}

type FailedNotificationsProps = { failed: FailedNotification[]; count: number }

/** Runs whose receivers do not know how they ended. */
export function FailedNotifications({ failed, count }: FailedNotificationsProps) {
  const more = count > failed.length ? `, the last ${failed.length} of ${countLabel(count)}` : ''
  return (
    <SectionCard id="undelivered" title={`Failed notifications (24 h)${more}`}>
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

/** Servers where it is not known what is live. Whatever else needs attention has a list of its own on this page. */
export function NeedsAttention({ count, items }: Overview['needs_attention']) {
  const unknown = items.flatMap(({ kind, application, server, detail, since }) =>
    kind === 'live_unknown' && application && server ? [{ application, server, detail, since }] : [],
  )
  if (unknown.length === 0) return null
  const more = count > items.length ? ` on ${unknown.length} servers or more` : ''
  return (
    <div className={classes.attention}>
      <SectionCard id="attention" title={`Live release unknown${more}`}>
        <ul className={`plain-list ${classes.list}`}>
          {unknown.map(({ application, server, detail, since }) => (
            <li key={`${application.id} ${server.id}`}>
              <Link href={`/applications/${application.id}`}>{application.name}</Link> on{' '}
              <Link href={`/servers/${server.id}`}>{server.name}</Link>
              <div className="dimmed wrap">
                {detail} <Age of={since} />
              </div>
            </li>
          ))}
        </ul>
      </SectionCard>
    </div>
  )
}
