// What the person may do in a scope, so that a page does not offer what the API would reject. The API decides: requests
// that bypass the pages are checked there.
import { useQuery } from '@tanstack/react-query'
import { queryKeys } from '../api/queries.ts'
import { useApi } from '../api/services.ts'
import type { Grant, Role } from '../api/types.ts'
import { useSession } from './session.ts'

type ScopeIds = { organizationId: number; projectId: number; environmentId: number }

const ROLES_THAT_RUN: readonly (string | null)[] = ['owner', 'admin', 'developer']

/** Pure. A custom role counts by its permissions. */
export function canRun(grants: Grant[], roles: Role[], { projectId, environmentId }: ScopeIds): boolean {
  return grants.some((grant) => {
    const custom = roles.find((role) => role.id === grant.role_id)
    const allows =
      ROLES_THAT_RUN.includes(grant.role) || custom?.permissions.includes('pipeline:run') === true
    const covers =
      (grant.project_id === null || grant.project_id === projectId) &&
      (grant.environment_id === null || grant.environment_id === environmentId)
    return allows && covers
  })
}

/** False until it is known. Where a person may not read their own grants, the API is left to reject. */
export function useCanRun(scope: ScopeIds | 'unknown' | undefined): boolean {
  const api = useApi()
  const { user } = useSession()
  const organizationId = scope === 'unknown' ? undefined : scope?.organizationId
  const { data } = useQuery({
    queryKey: queryKeys.grants(organizationId, user.id),
    enabled: organizationId !== undefined,
    staleTime: 60_000,
    queryFn: async ({ signal }) => {
      const id = organizationId!
      try {
        const path = { id, user_id: user.id }
        const { grants } = await api.get('/organizations/{id}/members/{user_id}', {
          params: { path },
          signal,
        })
        const isCustom = grants.some((grant) => grant.role_id !== null)
        const roles = isCustom
          ? await api.all('/organizations/{id}/roles', { params: { path: { id } }, signal })
          : []
        return { grants, roles }
      } catch {
        return 'unknown' as const
      }
    },
  })
  if (scope === 'unknown') return true
  if (!scope || !data) return false
  return data === 'unknown' || canRun(data.grants, data.roles, scope)
}
