// What an organization consists of, for people: members, invitations, roles, and the scopes that roles apply to.
import { queryOptions, useQuery } from '@tanstack/react-query'
import type { Api } from '../api/api.ts'
import { queryKeys } from '../api/queries.ts'
import { useApi } from '../api/services.ts'
import type { ScopeNames } from './grant-input.ts'

export function useMembers(organizationId: number) {
  const api = useApi()
  return useQuery({
    queryKey: queryKeys.members(organizationId),
    queryFn: async ({ signal }) => {
      const input = { params: { path: { id: organizationId } }, signal }
      const [members, invitations, roles] = await Promise.all([
        api.all('/organizations/{id}/members', input),
        api.all('/organizations/{id}/invitations', input),
        api.all('/organizations/{id}/roles', input),
      ])
      return { members, invitations, roles }
    },
  })
}

const MAX_NAMES = 1_000

function scopeNamesQuery(api: Api, organizationId: number) {
  return queryOptions({
    queryKey: queryKeys.scopeNames(organizationId),
    staleTime: 60_000,
    queryFn: async ({ signal }): Promise<ScopeNames> => {
      const query = {
        type: 'project,environment',
        within: `organization:${organizationId}`,
        per_page: MAX_NAMES,
      }
      const { items } = await api.page('/names', { params: { query }, signal })
      const ofType = (type: string) => items.filter((item) => item.type === type)
      return {
        projects: new Map(ofType('project').map(({ id, name }) => [Number(id), name])),
        environments: new Map(
          ofType('environment').map(({ id, name, project_id }) => [
            Number(id),
            { name, projectId: project_id },
          ]),
        ),
      }
    },
  })
}

const NONE: ScopeNames = { projects: new Map(), environments: new Map() }

/** Empty until they are loaded. */
export function useScopeNames(organizationId: number): ScopeNames {
  return useQuery(scopeNamesQuery(useApi(), organizationId)).data ?? NONE
}
