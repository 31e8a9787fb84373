// The newest run of each application or server of an environment, in one request.
import { useQuery } from '@tanstack/react-query'
import { queryKeys } from '../api/queries.ts'
import { useApi, useRefetchOnActionEvents } from '../api/services.ts'
import type { ActionListItem } from '../api/types.ts'

const REFETCH_INTERVAL_MS = 2_000
const LOOKED_AT = 100

/** By the id of the resource. One that has not run for long may be missing. */
export function useLatestRuns(environmentId: number, resourceType: 'application' | 'server') {
  const api = useApi()
  useRefetchOnActionEvents(queryKeys.latestRuns(), REFETCH_INTERVAL_MS)
  const { data } = useQuery({
    queryKey: queryKeys.latestRuns(environmentId, resourceType),
    queryFn: async ({ signal }) => {
      const query = {
        'filter[environment_id]': String(environmentId),
        'filter[resource_type]': resourceType,
        per_page: LOOKED_AT,
      }
      return newestByResource(await api.get('/actions', { params: { query }, signal }))
    },
  })
  return data
}

/** Pure. The list is newest first. */
function newestByResource(actions: readonly ActionListItem[]): Map<number, ActionListItem> {
  const newest = new Map<number, ActionListItem>()
  for (const action of actions) if (!newest.has(action.resource.id)) newest.set(action.resource.id, action)
  return newest
}
