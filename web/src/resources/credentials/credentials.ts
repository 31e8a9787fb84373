// The credentials of an organization, as queries.
import type { components } from '#client/index.ts'
import { queryKeys, useAll, useRefetch } from '#web/base/api/queries.ts'

export type Credential = components['schemas']['CredentialRecord']

export function useCredentials(organizationId: number | undefined) {
  return useAll(queryKeys.credentials(organizationId), '/organizations/{id}/credentials', {
    params: { path: { id: organizationId! } },
    enabled: organizationId !== undefined,
  })
}

/** Call it after each change. */
export function useCredentialsChanged(): () => Promise<void> {
  const refetch = useRefetch()
  return () => refetch(['credentials'], ['credential'])
}
