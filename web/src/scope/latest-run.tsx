import { VisuallyHidden } from '@mantine/core'
import { Link } from 'wouter'
import type { ActionListItem } from '../api/types.ts'
import { StatusBadge } from '../ui/parts.tsx'
import { Age } from '../ui/time.tsx'

/** In a table: the status of the newest run, and when it was. */
export function LatestRun({
  run,
}: {
  run: Pick<ActionListItem, 'id' | 'status' | 'created_at'> | null | undefined
}) {
  if (!run) return <span className="dimmed numeric">No runs yet</span>
  return (
    <span className="latest-run">
      <Link href={`/actions/${run.id}`}>
        <StatusBadge status={run.status} />
        <VisuallyHidden> (run #{run.id})</VisuallyHidden>
      </Link>{' '}
      <span className="dimmed">
        <Age of={run.created_at} />
      </span>
    </span>
  )
}
