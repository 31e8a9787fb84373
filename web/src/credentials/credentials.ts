// The credentials of an organization, as queries.
import { useQuery, useQueryClient } from '@tanstack/react-query'
import type { components } from '#client/index.ts'
import { queryKeys } from '../api/queries.ts'
import { useApi } from '../api/services.ts'

export type Credential = components['schemas']['CredentialRecord']

export function useCredentials(organizationId: number | undefined) {
  const api = useApi()
  return useQuery({
    queryKey: queryKeys.credentials(organizationId),
    enabled: organizationId !== undefined,
    queryFn: ({ signal }) =>
      api.all('/organizations/{id}/credentials', { params: { path: { id: organizationId! } }, signal }),
  })
}

/** Call it after each change. */
export function useCredentialsChanged(): () => Promise<void> {
  const queries = useQueryClient()
  return async () => {
    const keys = [['credentials'], ['credential']]
    await Promise.all(keys.map((queryKey) => queries.invalidateQueries({ queryKey })))
  }
}
