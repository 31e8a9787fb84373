import type { Delivery } from '../../action/deliveries.ts'
import { StatusBadge } from '../../ui/parts.tsx'

export function DeliveryBadge({ state }: { state: Delivery['state'] }) {
  switch (state) {
    case 'delivered':
      return <StatusBadge status="completed" label="Delivered" />
    case 'retrying':
      return <StatusBadge status="in-progress" label="Retrying" icon="↻" />
    case 'failed':
      return <StatusBadge status="failed" label="Failed" />
    case 'superseded':
      return <StatusBadge status="skipped" label="Superseded" />
  }
}
