// Servers as queries.
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { queryKeys } from '../api/queries.ts'
import { useApi } from '../api/services.ts'

export function useServers(environmentId: number | undefined) {
  const api = useApi()
  return useQuery({
    queryKey: queryKeys.servers(environmentId ?? 0),
    enabled: environmentId !== undefined,
    queryFn: ({ signal }) =>
      api.all('/environments/{id}/servers', { params: { path: { id: environmentId! } }, signal }),
  })
}

/** Call it after each change of servers, applications or the links between them. */
export function useInventoryChanged(): () => Promise<void> {
  const queries = useQueryClient()
  return async () => {
    const keys = [['servers'], ['server'], ['applications'], ['application'], ['resources'], ['names']]
    await Promise.all(keys.map((queryKey) => queries.invalidateQueries({ queryKey })))
  }
}
