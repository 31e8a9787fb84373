import { useQuery } from '@tanstack/react-query'
import { queryKeys } from '../api/queries.ts'
import { useApi, useRefetchOnActionEvents } from '../api/services.ts'
import { useOrganizations } from '../scope/tree.ts'
import { findSample, setupTasks, type Task } from './checklist.ts'

const TYPES = ['server', 'application', 'pipeline', 'incoming_hook']
const REFETCH_INTERVAL_MS = 4_000

type Setup = { sample: { id: number; name: string } | undefined; tasks: Task[] | undefined }

/** The checklist of a new installation; no tasks once something of one's own has been deployed. */
export function useSetup(): Setup {
  const api = useApi()
  const organizations = useOrganizations().data
  const sample = organizations && findSample(organizations)
  const own = organizations?.filter(({ id }) => id !== sample?.id).map(({ id }) => id) ?? []
  useRefetchOnActionEvents(queryKeys.setup(), REFETCH_INTERVAL_MS)
  const { data: hasDeployed } = useQuery({
    queryKey: queryKeys.setup('deployed', own),
    enabled: organizations !== undefined,
    queryFn: async ({ signal }) => {
      if (own.length === 0) return false
      const query = {
        'filter[type]': 'deploy',
        'filter[status]': 'completed',
        'filter[organization_id]': own.join(),
        per_page: 1,
      }
      return (await api.get('/actions', { params: { query }, signal })).length > 0
    },
  })
  const { data: names } = useQuery({
    queryKey: queryKeys.setup('names', sample?.id),
    enabled: hasDeployed === false,
    refetchInterval: REFETCH_INTERVAL_MS,
    queryFn: async ({ signal }) => {
      const lists = await Promise.all(
        TYPES.map((type) => api.get('/names', { params: { query: { type, per_page: 100 } }, signal })),
      )
      return lists.flat().filter(({ organization }) => organization.id !== sample?.id)
    },
  })
  const tasks = hasDeployed === false && names ? setupTasks(names, false) : undefined
  return { sample, tasks }
}
