import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { useApi } from '../api/services.ts'
import { STATUS_WORDS } from '../words/statuses.ts'
import { formatDuration } from '../words/time.ts'
import classes from './pipelines.module.css'
import { median, type Run, successRate, toRun } from './run-figures.ts'

const SHOWN = 20

/** The last runs as bars, their height the duration, with what they come to in words. */
export function LastRuns({ pipelineId }: { pipelineId: number }) {
  const api = useApi()
  const { data } = useQuery({
    queryKey: ['last-runs', pipelineId],
    staleTime: 15_000,
    queryFn: async ({ signal }) => {
      const query = { 'filter[pipeline_id]': String(pipelineId), per_page: SHOWN }
      return (await api.ask('GET /actions', { query, signal })).map(toRun)
    },
  })
  if (!data) return <p className="quiet">Reading…</p>
  if (data.length === 0) return <p className="quiet">It has not run yet.</p>
  const rate = successRate(data)
  const typical = median(data.flatMap(({ seconds }) => seconds ?? []))
  return (
    <div className={classes.runs}>
      <Sparkline runs={data.toReversed()} />
      <p className={classes.figures}>
        {rate !== null && <span>{Math.round(rate * 100)} % succeeded</span>}
        {typical !== null && <span>typically {formatDuration(typical * 1_000)}</span>}
        <Link href={`/actions?pipeline=${pipelineId}`}>
          {data.length === SHOWN
            ? `last ${SHOWN} runs`
            : data.length === 1
              ? 'one run'
              : `${data.length} runs`}
        </Link>
      </p>
    </div>
  )
}

function Sparkline({ runs }: { runs: Run[] }) {
  const longest = Math.max(...runs.map(({ seconds }) => seconds ?? 0), 0.001)
  const width = 100 / SHOWN
  return (
    <svg className={classes.sparkline} viewBox="0 0 100 28" preserveAspectRatio="none" role="img">
      <title>{`The last ${runs.length} runs: ${runs.filter(({ status }) => status === 'failed').length} failed`}</title>
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
            <title>
              #{run.id} {STATUS_WORDS[run.status]}
            </title>
          </rect>
        )
      })}
    </svg>
  )
}
