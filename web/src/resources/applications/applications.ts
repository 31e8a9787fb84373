// Applications as queries.
import { queryKeys, useAll, useGet } from '#web/base/api/queries.ts'

export function useApplications(environmentId: number | undefined) {
  return useAll(queryKeys.applications(environmentId ?? 0), '/environments/{id}/applications', {
    params: { path: { id: environmentId! } },
    enabled: environmentId !== undefined,
  })
}

/** Where it comes from. Undefined until it is loaded, and for people who may not see it. */
export function useSource(applicationId: number | undefined) {
  return useGet(queryKeys.sourceProvider(applicationId ?? 0), '/applications/{id}', {
    params: { path: { id: applicationId! } },
    enabled: applicationId !== undefined,
  }).data
}

/** The provider of its credential, null without one. */
export function useSourceProvider(applicationId: number | undefined): string | null | undefined {
  const source = useSource(applicationId)
  return source && (source.credential?.provider.code ?? null)
}
