import { Link } from 'wouter'
import { queryKeys, useGet, useRefetchOnActionEvents } from '#web/base/api/queries.ts'
import type { PermissionScope } from '#web/base/session/permissions.ts'
import { CommitLink, subjectOf } from '#web/base/ui/commit-link.tsx'
import { Loaded } from '#web/base/ui/page.tsx'
import { Section, StatusBadge } from '#web/base/ui/parts.tsx'
import type { Status } from '#web/base/ui/status.ts'
import { RowTable } from '#web/base/ui/table.tsx'
import { Age } from '#web/base/ui/time.tsx'
import { REFETCH } from '#web/resources/applications/use-card.ts'
import { NoRuns } from '#web/shared/scope/latest-run.tsx'
import classes from './application.module.css'
import { type CommitState, type LineCommit, toCommitLine } from './commit-line.ts'
import { useLive } from './server-releases.ts'

const LOOKED_AT = 30

type CommitsProps = { applicationId: number; scope: PermissionScope | undefined }

/** The commits of the last deploys, on a line: live where, reverted, waiting, skipped. */
export function Commits({ applicationId, scope }: CommitsProps) {
  useRefetchOnActionEvents(queryKeys.commitLine(), REFETCH.everyMs, REFETCH.firstMs)
  const live = useLive(applicationId).data ?? []
  const query = useGet(queryKeys.commitLine(applicationId), '/actions', {
    params: {
      query: {
        'filter[resource_type]': 'application',
        'filter[resource_id]': String(applicationId),
        'filter[type]': 'deploy',
        per_page: LOOKED_AT,
      },
    },
  })
  return (
    <Section id="commits" title="Commits">
      <Loaded query={query} what="commits">
        {(deploys) => (
          <RowTable
            label="Commits"
            rows={toCommitLine(deploys, live)}
            columns={[
              ['Commit', `wrap ${classes.onLine}`, (commit) => <CommitCell {...commit} />],
              ['State', 'status-cell', ({ state }) => <StatusBadge {...STATES[state]} />],
              ['Live on', 'wrap', ({ liveOn }) => liveOn.join(', ')],
              [
                'Last deploy',
                'numeric dimmed',
                ({ run }) =>
                  run && (
                    <>
                      <Link href={`/actions/${run.id}`}>#{run.id}</Link> <Age of={run.created_at} />
                    </>
                  ),
              ],
            ]}
            empty={<NoRuns scope={scope} />}
          />
        )}
      </Loaded>
    </Section>
  )
}

const STATES: Record<CommitState, { status: Status; label: string; icon?: string }> = {
  live: { status: 'completed', label: 'Live', icon: '●' },
  running: { status: 'in-progress', label: 'Deploying' },
  waiting: { status: 'waiting', label: 'Waiting' },
  reverted: { status: 'failed', label: 'Reverted', icon: '↩' },
  failed: { status: 'failed', label: 'Failed' },
  skipped: { status: 'skipped', label: 'Skipped' },
  earlier: { status: 'pending', label: 'Earlier' },
}

function CommitCell({ hash, ref, message, url, state }: LineCommit) {
  return (
    <>
      <svg className={classes.dot} viewBox="0 0 12 12" aria-hidden="true" data-status={STATES[state].status}>
        <circle cx="6" cy="6" r="4.5" data-filled={state === 'live' || undefined} />
      </svg>
      {hash ? <CommitLink hash={hash} url={url} /> : <span className="dimmed">{ref}, not fetched yet</span>}{' '}
      <bdi>{subjectOf(message)}</bdi>
    </>
  )
}
