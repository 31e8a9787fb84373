import { Link } from 'wouter'
import { STATUSES } from '#client/index.ts'
import { plural, STATUS_ICONS } from '../ui/status.ts'
import { Age } from '../ui/time.tsx'
import classes from './pipelines.module.css'
import { useRecentRuns } from './recent-runs.tsx'
import type { Run } from './run-stats.ts'

const SHOWN = 10
const MARK = 10

/** The last runs of a pipeline in one line. */
export function RunMarks({ pipelineId }: { pipelineId: number }) {
  const { data } = useRecentRuns(pipelineId)
  const last = data?.[0]
  if (!data) return <span aria-hidden="true">…</span>
  if (!last) return <span className="dimmed">No runs yet</span>
  return (
    <div className={classes.marks}>
      <Link href={`/actions/${last.id}`}>#{last.id}</Link>
      <span className="dimmed">
        <span data-status={last.status} className={classes.ended} aria-hidden="true">
          {STATUS_ICONS[last.status]}
        </span>{' '}
        {STATUSES[last.status]} <Age of={last.createdAt} />
      </span>
      <Marks runs={data.slice(0, SHOWN).toReversed()} />
    </div>
  )
}

/** The newest at the right. */
function Marks({ runs }: { runs: Run[] }) {
  const failed = runs.filter(({ status }) => status === 'failed').length
  return (
    <svg width={runs.length * MARK} height={14} role="img">
      <title>{`Last ${plural(runs.length, 'run')}: ${failed} failed`}</title>
      {runs.map((run, index) => (
        <rect key={run.id} data-status={run.status} x={index * MARK} width={7} height={14} rx={1.5}>
          <title>
            #{run.id} {STATUSES[run.status]}
          </title>
        </rect>
      ))}
    </svg>
  )
}
