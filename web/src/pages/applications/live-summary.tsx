import { Alert, Badge, Paper } from '@mantine/core'
import { Link } from 'wouter'
import type { ApplicationCard, LiveRelease } from '#web/base/api/types.ts'
import { CommitLink, subjectOf } from '#web/base/ui/commit-link.tsx'
import { StatusBadge } from '#web/base/ui/parts.tsx'
import { deployKind, kindOf, plural, runNumber } from '#web/base/ui/status.ts'
import { Age, Duration } from '#web/base/ui/time.tsx'
import type { ApplicationRecord } from '#web/resources/applications/application-input.ts'
import { driftText, nothingLiveText, onServers } from '#web/resources/applications/live-text.ts'
import classes from './application.module.css'
import { useUnknownServers } from './server-releases.ts'

type LiveSummaryProps = { application: ApplicationRecord; card: ApplicationCard }

/** What its servers serve, since when, and what is about to change that. */
export function LiveSummary({ application, card }: LiveSummaryProps) {
  const { live, latest } = application.last_deployments
  const [newest] = card.live
  // Where servers differ, the newest deploy need not be that of the commit that most of them serve.
  const source = live?.id === newest?.action_id ? live?.action_data.deployment : undefined
  const kind = live && live.id === newest?.action_id ? deployKind(live) : undefined
  const drift = driftText(card)
  const unknown = useUnknownServers(application.id)
  return (
    <>
      {unknown.length > 0 && <UnknownServers servers={unknown} />}
      <Paper component="section" withBorder p="md" className={classes.summary} aria-label="Live">
        <div className={classes.live}>
          {newest ? (
            <>
              <div className={classes.commit}>
                {newest.commit ? <CommitLink {...newest.commit} /> : 'Unknown commit'}{' '}
                <bdi>{subjectOf(newest.commit?.message)}</bdi>
              </div>
              <div className="dimmed wrap">
                Went live <Age of={newest.since} /> {onServers(newest.servers, card.servers.count)}
                {source?.source_ref && `, from ${source.source_type} ${source.source_ref}`}
                {newest.action_id !== null && (
                  <>
                    , deployed by{' '}
                    <Link href={`/actions/${newest.action_id}`}>{runNumber(newest.action_id, kind)}</Link>
                  </>
                )}
              </div>
            </>
          ) : (
            <div className="dimmed">{latest ? 'Nothing is live' : nothingLiveText(card)}</div>
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
        <ul className="plain-list">
          {card.running.map((run) => (
            <li key={run.id}>
              <StatusBadge status={run.status} label={run.status_reason_human_readable} />{' '}
              <Link href={`/actions/${run.id}`}>
                {run.pipeline.name} {runNumber(run.id, kindOf(run.kind))}
              </Link>{' '}
              <span className="dimmed">
                <Duration from={run.started_at} to={null} />
              </span>
            </li>
          ))}
          {card.running.length === 0 && latest && latest.id !== live?.id && (
            <li>
              <StatusBadge status={latest.status} />{' '}
              <Link href={`/actions/${latest.id}`}>
                Latest deploy {runNumber(latest.id, deployKind(latest))}
              </Link>{' '}
              <span className="dimmed">
                <Age of={latest.created_at} />
              </span>
            </li>
          )}
        </ul>
      </Paper>
    </>
  )
}

/** Says where it is not known what is live, and what may be. */
function UnknownServers({ servers }: { servers: readonly LiveRelease[] }) {
  return (
    <Alert color="orange" title={`Unknown on ${plural(servers.length, 'server')}`} mb="sm">
      <ul className="plain-list">
        {servers.map((one, index) => (
          <li key={one.server?.id ?? index}>
            <UnknownServer {...one} />
          </li>
        ))}
      </ul>
      Gantry keeps asking. A new deploy settles it, too.
    </Alert>
  )
}

function UnknownServer({ server, last_known, candidate, unknown_reason, unknown_since }: LiveRelease) {
  const names = [last_known, candidate].flatMap((one) => one?.release_name ?? [])
  return (
    <>
      <b>{server?.name ?? 'A server'}</b>
      {names.length > 0 && (
        <>
          {': '}
          {names.map((name, index) => (
            <span key={name}>
              {index > 0 && ' or '}
              <code>{name}</code>
            </span>
          ))}
        </>
      )}
      <div className="dimmed wrap">
        {unknown_reason} {unknown_since && <Age of={unknown_since} />}
      </div>
    </>
  )
}
