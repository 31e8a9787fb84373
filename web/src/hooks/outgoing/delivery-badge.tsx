import { StatusBadge } from '../../ui/parts.tsx'
import type { Delivery } from './deliveries.ts'

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
