// What the person may do at a place, so that a page does not offer what the API would refuse. It decides nothing: who
// calls the API past the pages is judged there.
import { useQuery } from '@tanstack/react-query'
import { useApi } from '../api/services.ts'
import { mayRun, type PlaceIds } from './may-run.ts'
import { useSession } from './session.ts'

/** False until it is known. Where a person may not read their own grants, the API is left to say no. */
export function useMayRun(place: PlaceIds | 'unknown' | undefined): boolean {
  const api = useApi()
  const { user } = useSession()
  const organizationId = place === 'unknown' ? 0 : (place?.organizationId ?? 0)
  const { data } = useQuery({
    queryKey: ['grants', organizationId, user.id],
    enabled: organizationId > 0,
    staleTime: 60_000,
    queryFn: async ({ signal }) => {
      const path = { id: organizationId }
      try {
        const member = await api.ask('GET /organizations/{id}/members/{user_id}', {
          path: { ...path, user_id: user.id },
          signal,
        })
        const isCustom = member.grants.some((grant) => grant.role_id !== null)
        const roles = isCustom
          ? await api.ask('GET /organizations/{id}/roles', { path, query: { per_page: 100 }, signal })
          : []
        return { grants: member.grants, roles }
      } catch {
        return 'unknown' as const
      }
    },
  })
  if (place === 'unknown') return true
  if (!place || !data) return false
  return data === 'unknown' || mayRun(data.grants, data.roles, place)
}
