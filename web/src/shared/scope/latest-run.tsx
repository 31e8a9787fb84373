import { VisuallyHidden } from '@mantine/core'
import { Link } from 'wouter'
import { queryKeys, useGet, useRefetchOnActionEvents } from '#web/base/api/queries.ts'
import type { ActionListItem } from '#web/base/api/types.ts'
import { type PermissionScope, usePermission } from '#web/base/session/permissions.ts'
import { StatusBadge } from '#web/base/ui/parts.tsx'
import { deployKind } from '#web/base/ui/status.ts'
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
  run: Pick<ActionListItem, 'id' | 'status' | 'created_at' | 'action_data'> | null | undefined
  /** Older runs were not looked at. */
  isRecentOnly?: boolean | undefined
}

/** In a table: the status of the newest run, and when it was. */
export function LatestRun({ run, scope, isRecentOnly = false }: LatestRunProps) {
  if (!run && isRecentOnly) return <span className="dimmed">No recent runs</span>
  if (!run) return <NoRuns scope={scope} />
  const kind = deployKind(run)
  return (
    <span className="latest-run">
      <Link href={`/actions/${run.id}`}>
        <StatusBadge status={run.status} />
        <VisuallyHidden> (run #{run.id})</VisuallyHidden>
      </Link>{' '}
      <span className="dimmed">
        {kind && `(${kind}) `}
        <Age of={run.created_at} />
      </span>
    </span>
  )
}

// The newest run of each application or server of an environment, in one request.
const REFETCH_INTERVAL_MS = 2_000
const LOOKED_AT = 100

/** By the id of the resource: an application that ran, or a server that any run had as a target. */
export function useLatestRuns(environmentId: number, resourceType: 'application' | 'server') {
  useRefetchOnActionEvents(queryKeys.latestRuns(), REFETCH_INTERVAL_MS)
  const query = {
    'filter[environment_id]': String(environmentId),
    ...(resourceType === 'application' && { 'filter[resource_type]': resourceType }),
    per_page: LOOKED_AT,
  }
  const key = queryKeys.latestRuns(environmentId, resourceType)
  const select = resourceType === 'application' ? newestByResource : newestByServer
  return useGet(key, '/actions', { params: { query }, select }).data
}

type Actions = readonly ActionListItem[]

const newestByResource = (actions: Actions) => newestBy(actions, ({ resource }) => [resource.id])
const newestByServer = (actions: Actions) =>
  newestBy(actions, ({ targets }) => targets.map((one) => one.resource_id))

/** Pure. The list is newest first. */
function newestBy(actions: Actions, idsOf: (action: ActionListItem) => number[]) {
  const newest = new Map<number, ActionListItem>()
  for (const action of actions) for (const id of idsOf(action)) if (!newest.has(id)) newest.set(id, action)
  return { newest, isRecentOnly: actions.length >= LOOKED_AT }
}
