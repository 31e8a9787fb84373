// One application: what is live, whether it is healthy, what its last runs came to, and the two commands people need most.
import { Badge, Paper, Title, VisuallyHidden } from '@mantine/core'
import type { KeyboardEvent } from 'react'
import { Link } from 'wouter'
import type { ApplicationCard, CardRun } from '#web/base/api/types.ts'
import { type PermissionScope, runScope } from '#web/base/session/permissions.ts'
import { CommitLink, subjectOf } from '#web/base/ui/commit-link.tsx'
import { formatDateTime } from '#web/base/ui/format.ts'
import { StatusBadge } from '#web/base/ui/parts.tsx'
import { kindOf, runNumber, STATUS_ICONS } from '#web/base/ui/status.ts'
import { Age, Duration } from '#web/base/ui/time.tsx'
import { HealthBadge } from '#web/resources/applications/health-badge.tsx'
import { driftText, nothingLiveText, onServers } from '#web/resources/applications/live-text.ts'
import { runTitle } from '#web/resources/pipelines/pipeline-names.ts'
import { DeployButtons } from '#web/resources/runs/deploy-buttons.tsx'
import { NoRuns } from '#web/shared/scope/latest-run.tsx'
import classes from './cards.module.css'

export function Card({ card }: { card: ApplicationCard }) {
  const { id, name, health, live, servers, runs, deploy_pipeline } = card
  const scope = runScope(card)
  return (
    <Paper
      component="article"
      withBorder
      className={classes.card}
      aria-labelledby={`application-${id}`}
      data-attention={card.needs_attention || undefined}
    >
      <div className={classes.head}>
        <Title order={3} size="h5" id={`application-${id}`} className={classes.name}>
          <Link href={`/applications/${id}`}>
            <bdi>{name}</bdi>
          </Link>
          {card.needs_attention && <VisuallyHidden> (needs attention)</VisuallyHidden>}
        </Title>
        {live.length > 0 && <HealthBadge health={health} />}
      </div>
      <LiveCommit card={card} />
      <LatestRun run={card.running[0] ?? runs[0]} scope={scope} />
      <div className={classes.foot}>
        <RunMarks name={name} runs={runs} />
        <div className={classes.buttons}>
          <DeployButtons
            application={name}
            pipelineId={deploy_pipeline?.id ?? null}
            isLive={live.length > 0 || servers.unknown > 0}
            scope={scope}
            isSmall
          />
        </div>
      </div>
    </Paper>
  )
}

function LiveCommit({ card }: { card: ApplicationCard }) {
  const { live, servers } = card
  const [newest] = live
  const drift = driftText(card)
  return (
    <div className={classes.live}>
      {newest ? (
        <>
          <div className={classes.commit}>
            {newest.commit ? (
              <CommitLink {...newest.commit} />
            ) : (
              <span className="dimmed">Unknown commit</span>
            )}{' '}
            <bdi title={newest.commit?.message ?? undefined}>{subjectOf(newest.commit?.message)}</bdi>
          </div>
          <div className="dimmed">
            Went live <Age of={newest.since} /> {onServers(newest.servers, servers.count)}
          </div>
        </>
      ) : (
        <div className="dimmed">{nothingLiveText(card)}</div>
      )}
      {drift && (
        <div>
          <Badge size="sm" variant="light" color="orange" tt="none">
            Drift
          </Badge>{' '}
          {drift}
        </div>
      )}
    </div>
  )
}

type LatestRunProps = { run: CardRun | undefined; scope: PermissionScope }

/** What runs now, else the newest run. */
function LatestRun({ run, scope }: LatestRunProps) {
  if (!run)
    return (
      <div className={classes.latest}>
        <NoRuns scope={scope} />
      </div>
    )
  const { id, status, status_reason_human_readable, kind, started_at, completed_at, created_at } = run
  return (
    <div className={classes.latest}>
      <StatusBadge status={status} label={status_reason_human_readable} />
      <span>
        <Link href={`/actions/${id}`} title={run.pipeline.name}>
          {runNumber(id, kindOf(kind))}
        </Link>{' '}
        <span className="dimmed">
          {completed_at ? <Age of={completed_at} /> : <Duration from={started_at ?? created_at} to={null} />}
        </span>
      </span>
    </div>
  )
}

/** The last runs, the newest on the right. One of them is in the tab order; the arrow keys move from there. */
function RunMarks({ name, runs }: { name: string; runs: CardRun[] }) {
  if (runs.length === 0) return <span />
  return (
    <ul className={`plain-list ${classes.marks}`} aria-label={`Last runs of ${name}`} onKeyDown={moveFocus}>
      {runs.toReversed().map((run, index) => (
        <li key={run.id}>
          <Link
            href={`/actions/${run.id}`}
            className={classes.mark}
            data-status={run.status}
            title={markText(run)}
            aria-label={markText(run)}
            tabIndex={index === runs.length - 1 ? 0 : -1}
          >
            <span aria-hidden="true">{STATUS_ICONS[run.status]}</span>
          </Link>
        </li>
      ))}
    </ul>
  )
}

function markText({
  id,
  pipeline,
  kind,
  status_reason_human_readable,
  completed_at,
  created_at,
}: CardRun): string {
  const title = runTitle(pipeline.name, id, kindOf(kind))
  return `${title}: ${status_reason_human_readable}, ${formatDateTime(completed_at ?? created_at)}`
}

function moveFocus(event: KeyboardEvent<HTMLElement>): void {
  if (!['ArrowLeft', 'ArrowRight', 'Home', 'End'].includes(event.key)) return
  const marks = [...event.currentTarget.querySelectorAll('a')]
  const now = marks.indexOf(document.activeElement as HTMLAnchorElement)
  const next = { ArrowLeft: now - 1, ArrowRight: now + 1, Home: 0, End: marks.length - 1 }[event.key]!
  event.preventDefault()
  marks[next]?.focus()
}
