import { VisuallyHidden } from '@mantine/core'
import { Link } from 'wouter'
import { queryKeys, useGet, useRefetchOnActionEvents } from '#web/base/api/queries.ts'
import type { ActionListItem } from '#web/base/api/types.ts'
import { type PermissionScope, usePermission } from '#web/base/session/permissions.ts'
import { StatusBadge } from '#web/base/ui/parts.tsx'
import { Age } from '#web/base/ui/time.tsx'

type RunsScope = { scope: PermissionScope | undefined }

/** In place of runs; not every role sees them. */
export function NoRuns({ scope }: RunsScope) {
  const { allowed, reason } = usePermission('action:view', scope)
  if (allowed || !scope) return <span className="dimmed numeric">No runs yet</span>
  return (
    <span className="dimmed" title={reason}>
      Runs not visible
    </span>
  )
}

type LatestRunProps = RunsScope & {
  run: Pick<ActionListItem, 'id' | 'status' | 'created_at'> | null | undefined
}

/** In a table: the status of the newest run, and when it was. */
export function LatestRun({ run, scope }: LatestRunProps) {
  if (!run) return <NoRuns scope={scope} />
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

// The newest run of each application or server of an environment, in one request.
const REFETCH_INTERVAL_MS = 2_000
const LOOKED_AT = 100

/** By the id of the resource. One that has not run for long may be missing. */
export function useLatestRuns(environmentId: number, resourceType: 'application' | 'server') {
  useRefetchOnActionEvents(queryKeys.latestRuns(), REFETCH_INTERVAL_MS)
  const query = {
    'filter[environment_id]': String(environmentId),
    'filter[resource_type]': resourceType,
    per_page: LOOKED_AT,
  }
  const key = queryKeys.latestRuns(environmentId, resourceType)
  return useGet(key, '/actions', { params: { query }, select: newestByResource }).data
}

/** Pure. The list is newest first. */
function newestByResource(actions: readonly ActionListItem[]): Map<number, ActionListItem> {
  const newest = new Map<number, ActionListItem>()
  for (const action of actions) if (!newest.has(action.resource.id)) newest.set(action.resource.id, action)
  return newest
}
