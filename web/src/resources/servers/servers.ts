// Servers as queries.
import { queryKeys, useAll, useRefetch } from '#web/base/api/queries.ts'

export function useServers(environmentId: number | undefined) {
  return useAll(queryKeys.servers(environmentId ?? 0), '/environments/{id}/servers', {
    params: { path: { id: environmentId! } },
    enabled: environmentId !== undefined,
  })
}

/** Call it after each change of servers, applications or the links between them. */
export function useInventoryChanged(): () => Promise<void> {
  const refetch = useRefetch()
  return () =>
    refetch(
      ['servers'],
      ['server'],
      ['applications'],
      ['application'],
      ['resources'],
      ['names'],
      queryKeys.applicationCards(),
      queryKeys.serverReleases(),
    )
}
