import { Paper } from '@mantine/core'
import { queryKeys, useGet } from '#web/base/api/queries.ts'
import { BarChart } from '#web/base/ui/bar-chart.tsx'
import { formatClock } from '#web/base/ui/format.ts'

const REFETCH_INTERVAL_MS = 15_000

/** The last day, hour by hour. */
export function DeliveriesChart({ hookId }: { hookId: string }) {
  const { data: hours = [] } = useGet(
    [...queryKeys.hookRequests(hookId), 'hours'],
    '/hooks/outgoing/{hook_id}/hours',
    { params: { path: { hook_id: hookId } }, refetchInterval: REFETCH_INTERVAL_MS },
  )
  const max = Math.max(...hours.map(({ delivered, retried, failed }) => delivered + retried + failed))
  if (max <= 0) return null
  return (
    <Paper withBorder p="md" mb="sm">
      <BarChart
        caption="Deliveries per hour"
        unit="Hour"
        label={formatClock}
        max={max}
        maxLabel={String(max)}
        series={[
          { name: 'delivered', status: 'completed', values: hours.map(({ delivered }) => delivered) },
          { name: 'retried', status: 'in-progress', values: hours.map(({ retried }) => retried) },
          { name: 'failed', status: 'failed', values: hours.map(({ failed }) => failed) },
        ]}
        dates={hours.map(({ hour }) => hour)}
        format={String}
      />
    </Paper>
  )
}
