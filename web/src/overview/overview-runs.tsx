import { Link } from 'wouter'
import type { OverviewRun } from '../api/types.ts'
import { runTitle } from '../pipelines/run-title.ts'
import { SectionCard, StatusBadge } from '../ui/parts.tsx'
import { Age, Duration } from '../ui/time.tsx'
import classes from './overview.module.css'

type OverviewRunsProps = {
  id: string
  title: string
  runs: OverviewRun[]
  /** How many there are, of which `runs` are the first; 10000 means 10000 or more. */
  count: number
  empty: string
  /** The list with the same filter. */
  to: string
}

/** The first of the runs in some state. When there are more, it says so and links to all of them. */
export function OverviewRuns({ id, title, runs, count, empty, to }: OverviewRunsProps) {
  return (
    <SectionCard id={id} title={title}>
      {runs.length === 0 ? (
        <span className={`dimmed ${classes.none}`}>{empty}</span>
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
        <Link href={`/actions/${run.id}`}>{runTitle(run.pipeline.name, run.id)}</Link>{' '}
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
