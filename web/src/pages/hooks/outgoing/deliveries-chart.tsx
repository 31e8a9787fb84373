import { Paper } from '@mantine/core'
import { BarChart } from '#web/base/ui/bar-chart.tsx'
import { formatClock } from '#web/base/ui/format.ts'
import type { Delivery } from './deliveries.ts'
import { deliveriesPerHour } from './deliveries-per-hour.ts'

/** `isCut`: there are older deliveries than these. */
type DeliveriesChartProps = { deliveries: Delivery[]; isCut: boolean }

/** Nothing where no hour is complete. */
export function DeliveriesChart({ deliveries, isCut }: DeliveriesChartProps) {
  const hours = deliveriesPerHour(deliveries, isCut, Date.now())
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
