import type { ActionNotification } from '../../api/types.ts'
import { StatusBadge } from '../../ui/parts.tsx'

export function DeliveryBadge({ state }: { state: ActionNotification['state'] }) {
  switch (state) {
    case 'delivered':
      return <StatusBadge status="completed" label="Delivered" />
    case 'retrying':
      return <StatusBadge status="in-progress" label="Retrying" icon="↻" />
    case 'paused':
      return <StatusBadge status="waiting" label="Paused" />
    case 'failed':
      return <StatusBadge status="failed" label="Failed" />
    case 'superseded':
      return <StatusBadge status="skipped" label="Superseded" />
  }
}
