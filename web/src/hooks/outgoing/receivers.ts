// The catalog of receivers, as a query. It changes only with a release.
import { useQuery } from '@tanstack/react-query'
import { queryKeys } from '../../api/queries.ts'
import { useApi } from '../../api/services.ts'

export function useReceivers() {
  const api = useApi()
  return useQuery({
    queryKey: queryKeys.receivers,
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: ({ signal }) => api.get('/catalog/receivers', { signal }),
  })
}
