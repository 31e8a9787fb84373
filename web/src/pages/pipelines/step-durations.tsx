import { queryKeys, useGet } from '#web/base/api/queries.ts'
import { formatDuration } from '#web/base/ui/format.ts'
import { Loaded } from '#web/base/ui/page.tsx'
import { Section } from '#web/base/ui/parts.tsx'
import { plural } from '#web/base/ui/status.ts'
import { RowTable } from '#web/base/ui/table.tsx'
import classes from './pipelines.module.css'
import { type StepDurations as Durations, toStepDurations } from './step-durations.ts'

const RUNS = 30
const HEIGHT = 24

/** How long each step took in the last runs, so that the one that became slow stands out. Nothing without completed runs. */
export function StepDurations({ pipelineId }: { pipelineId: number }) {
  const query = useGet(queryKeys.stepDurations(pipelineId), '/actions', {
    params: {
      query: {
        'filter[pipeline_id]': String(pipelineId),
        'filter[status]': 'completed',
        per_page: RUNS,
      },
    },
    staleTime: 15_000,
  })
  if (!query.data || query.data.length < 2) return null
  return (
    <Section id="durations" title="Duration per step">
      <Loaded query={query} what="durations">
        {(runs) => {
          const rows = toStepDurations(runs)
          const longest = Math.max(0.001, ...rows.flatMap(({ seconds }) => seconds.map((one) => one ?? 0)))
          return (
            <RowTable
              label={`Duration per step of the last ${plural(runs.length, 'completed run')}`}
              rows={rows}
              columns={[
                ['Step', 'wrap name-cell', ({ id }) => id],
                ['Median', 'numeric', ({ median }) => secondsText(median)],
                ['Last', 'numeric', ({ last }) => secondsText(last)],
                [
                  `Last ${plural(runs.length, 'run')}`,
                  classes.durations,
                  (row) => <Bars row={row} longest={longest} />,
                ],
              ]}
            />
          )
        }}
      </Loaded>
    </Section>
  )
}

function secondsText(seconds: number | null): string {
  return seconds === null ? '–' : formatDuration(seconds * 1_000)
}

function Bars({ row: { id, seconds, runs }, longest }: { row: Durations; longest: number }) {
  const width = 100 / RUNS
  return (
    <svg className={classes.sparkline} viewBox={`0 0 100 ${HEIGHT}`} preserveAspectRatio="none" role="img">
      <title>{`${id}: ${seconds.map(secondsText).join(', ')}`}</title>
      {seconds.map((one, index) => {
        const height = one === null ? 0 : Math.max(1, (one / longest) * HEIGHT)
        return (
          <rect
            key={runs[index]}
            data-status="in-progress"
            x={(RUNS - seconds.length + index) * width + 0.4}
            width={width - 0.8}
            y={HEIGHT - height}
            height={height}
          >
            <title>{`#${runs[index]}: ${secondsText(one)}`}</title>
          </rect>
        )
      })}
    </svg>
  )
}
