import { Group } from '@mantine/core'
import { Link } from 'wouter'
import { STATUSES } from '#client/index.ts'
import { queryKeys, useGet } from '#web/base/api/queries.ts'
import type { PermissionScope } from '#web/base/session/permissions.ts'
import { formatDuration } from '#web/base/ui/format.ts'
import { plural, STATUS_ICONS } from '#web/base/ui/status.ts'
import { Age } from '#web/base/ui/time.tsx'
import { NoRuns } from '#web/shared/scope/latest-run.tsx'
import classes from './pipelines.module.css'
import { countFailed, median, type Run, successRate, toRun } from './run-stats.ts'

const SHOWN = 20

/** Newest first. */
export function useRecentRuns(pipelineId: number) {
  return useGet(queryKeys.recentRuns(pipelineId), '/actions', {
    params: { query: { 'filter[pipeline_id]': String(pipelineId), per_page: SHOWN } },
    staleTime: 15_000,
    select: (actions) => actions.map(toRun),
  })
}

type RunsProps = { pipelineId: number; scope: PermissionScope | undefined }

/** The recent runs as bars, as high as they took long, and what they add up to. */
export function RecentRuns({ pipelineId, scope }: RunsProps) {
  const { data } = useRecentRuns(pipelineId)
  if (!data) return <span className="dimmed">Loading runs…</span>
  if (data.length === 0) return <NoRuns scope={scope} />
  const rate = successRate(data)
  const typical = median(data.flatMap(({ seconds }) => seconds ?? []))
  return (
    <>
      <Sparkline runs={data.toReversed()} />
      <Group gap="md" fz="sm" mt="xs">
        {rate !== null && <span>{Math.round(rate * 100)}% succeeded</span>}
        {typical !== null && <span>median {formatDuration(typical * 1_000)}</span>}
        <Link href={`/actions?pipeline=${pipelineId}`}>
          {data.length === SHOWN ? `last ${SHOWN} runs` : plural(data.length, 'run')}
        </Link>
      </Group>
    </>
  )
}

function Sparkline({ runs }: { runs: Run[] }) {
  const longest = Math.max(...runs.map(({ seconds }) => seconds ?? 0), 0.001)
  const width = 100 / SHOWN
  const failed = countFailed(runs)
  return (
    <svg className={classes.sparkline} viewBox="0 0 100 28" preserveAspectRatio="none" role="img">
      <title>{`Last ${plural(runs.length, 'run')}: ${failed} failed`}</title>
      {runs.map((run, index) => {
        const height = run.seconds === null ? 3 : Math.max(3, (run.seconds / longest) * 28)
        return (
          <rect
            key={run.id}
            data-status={run.status}
            x={(SHOWN - runs.length + index) * width + 0.6}
            width={width - 1.2}
            y={28 - height}
            height={height}
          >
            <title>{runText(run)}</title>
          </rect>
        )
      })}
    </svg>
  )
}

/** `#42 Completed (rollback)`. */
function runText({ id, status, kind }: Run): string {
  return `#${id} ${STATUSES[status]}${kind ? ` (${kind})` : ''}`
}

const MAX_MARKS = 10
const MARK = 10

/** The last runs of a pipeline in one line. */
export function RunMarks({ pipelineId, scope }: RunsProps) {
  const { data } = useRecentRuns(pipelineId)
  const last = data?.[0]
  if (!data) return <span aria-hidden="true">…</span>
  if (!last) return <NoRuns scope={scope} />
  return (
    <div className={classes.marks}>
      <Link href={`/actions/${last.id}`}>#{last.id}</Link>
      <span className="dimmed">
        <span data-status={last.status} className={classes.ended} aria-hidden="true">
          {STATUS_ICONS[last.status]}
        </span>{' '}
        {STATUSES[last.status]} {last.kind && `(${last.kind}) `}
        <Age of={last.createdAt} />
      </span>
      <Marks runs={data.slice(0, MAX_MARKS).toReversed()} />
    </div>
  )
}

/** The newest at the right. */
function Marks({ runs }: { runs: Run[] }) {
  const failed = countFailed(runs)
  return (
    <svg width={runs.length * MARK} height={14} role="img">
      <title>{`Last ${plural(runs.length, 'run')}: ${failed} failed`}</title>
      {runs.map((run, index) => (
        <rect key={run.id} data-status={run.status} x={index * MARK} width={7} height={14} rx={1.5}>
          <title>{runText(run)}</title>
        </rect>
      ))}
    </svg>
  )
}
