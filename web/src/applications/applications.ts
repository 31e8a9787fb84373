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

/** The provider of its credential, null without one. Undefined until it is loaded, and for people who may not see it. */
export function useSourceProvider(applicationId: number | undefined): string | null | undefined {
  const api = useApi()
  const { data } = useQuery({
    queryKey: queryKeys.sourceProvider(applicationId ?? 0),
    enabled: applicationId !== undefined,
    queryFn: async ({ signal }) => {
      const params = { path: { id: applicationId! } }
      const { credential } = await api.get('/applications/{id}', { params, signal })
      return credential?.provider.code ?? null
    },
  })
  return data
}
