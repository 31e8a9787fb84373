// Applications as queries.
import { useQuery } from '@tanstack/react-query'
import { queryKeys } from '../api/queries.ts'
import { useApi } from '../api/services.ts'

export function useApplications(environmentId: number | undefined) {
  const api = useApi()
  return useQuery({
    queryKey: queryKeys.applications(environmentId ?? 0),
    enabled: environmentId !== undefined,
    queryFn: ({ signal }) =>
      api.all('/environments/{id}/applications', { params: { path: { id: environmentId! } }, signal }),
  })
}
