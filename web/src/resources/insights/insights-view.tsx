// The insights room: how often and how well an application, or all of an environment, is deployed.
import { Group, NativeSelect, Paper } from '@mantine/core'
import { keepPreviousData } from '@tanstack/react-query'
import { queryKeys, useGet } from '#web/base/api/queries.ts'
import type { Insights } from '#web/base/api/types.ts'
import { BarChart } from '#web/base/ui/bar-chart.tsx'
import { formatDate } from '#web/base/ui/format.ts'
import { Loaded } from '#web/base/ui/page.tsx'
import { Dimmed, SectionCard } from '#web/base/ui/parts.tsx'
import { useSearch } from '#web/shared/scope/scope.ts'
import { type Figure, figuresOf, firstDay, recordedSince } from './figures.ts'
import classes from './insights.module.css'

const RANGES = [
  { value: '7', label: 'Last 7 days' },
  { value: '30', label: 'Last 30 days' },
  { value: '90', label: 'Last 90 days' },
  { value: '365', label: 'Last 365 days' },
]
const DEFAULT_DAYS = '30'

type Subject = { type: 'application' | 'environment'; id: number }

/** The range is in the URL. */
export function InsightsView({ type, id }: Subject) {
  const [search, update] = useSearch()
  const wanted = search.get('days')
  const days = RANGES.find(({ value }) => value === wanted)?.value ?? DEFAULT_DAYS
  return (
    <>
      <Group justify="space-between" gap="xs" mb="sm">
        <NativeSelect
          aria-label="Time range"
          value={days}
          onChange={({ currentTarget: { value } }) =>
            update({ days: value === DEFAULT_DAYS ? undefined : value }, true)
          }
          data={RANGES}
        />
        <a href="/docs/guides/insights#definitions" target="_blank" rel="noreferrer">
          All definitions
        </a>
      </Group>
      <Loaded query={useInsights({ type, id }, Number(days))} what="insights">
        {(insights) => <Figures insights={insights} />}
      </Loaded>
    </>
  )
}

function useInsights({ type, id }: Subject, days: number) {
  const from = firstDay(days, new Date())
  const init = {
    params: { path: { id }, query: { from } },
    placeholderData: keepPreviousData<Insights>,
    staleTime: 30_000,
  }
  const key = queryKeys.insights(type, id, from)
  const path = type === 'application' ? '/applications/{id}/insights' : '/environments/{id}/insights'
  return useGet(key, path, init)
}

function Figures({ insights }: { insights: Insights }) {
  const since = recordedSince(insights)
  return (
    <>
      <dl className={classes.figures}>
        {figuresOf(insights).map((figure) => (
          <FigureTile key={figure.name} {...figure} />
        ))}
      </dl>
      <SectionCard id="deployment-days" title="Deployments, rollbacks and reverts per day">
        <DaysChart days={insights.days} />
      </SectionCard>
      {since && <Dimmed mt="xs">Deployments are recorded since {formatDate(since)}.</Dimmed>}
    </>
  )
}

function FigureTile({ name, value, note, definition }: Figure) {
  return (
    <Paper withBorder px="md" py="sm">
      <dt className="dimmed">{name}</dt>
      <dd className={classes.value}>{value}</dd>
      <dd className="dimmed">
        {note}
        <details>
          <summary>Definition</summary>
          {definition}
        </details>
      </dd>
    </Paper>
  )
}

function DaysChart({ days }: Pick<Insights, 'days'>) {
  const max = Math.max(1, ...days.map((day) => day.deployments + day.rollbacks + day.reverts))
  return (
    <BarChart
      caption="Deployments, rollbacks and reverts per day"
      max={max}
      maxLabel={String(max)}
      series={[
        { name: 'deployments', status: 'completed', values: days.map((day) => day.deployments) },
        { name: 'rollbacks', status: 'in-progress', values: days.map((day) => day.rollbacks) },
        { name: 'reverts', status: 'failed', values: days.map((day) => day.reverts) },
      ]}
      dates={days.map((day) => day.date)}
      format={String}
    />
  )
}
