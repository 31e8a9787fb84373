// Who is signed in, on pages that also people see who are not.
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { ApiError } from '../api/api.ts'
import { queryKeys } from '../api/queries.ts'
import { useApi } from '../api/services.ts'
import type { SessionUser } from './session.ts'

export function useVisitor() {
  const api = useApi()
  const queries = useQueryClient()
  const query = useQuery({
    queryKey: queryKeys.visitor,
    queryFn: async ({ signal }): Promise<SessionUser | null> => {
      try {
        return (await api.request('GET /session', { signal })).user
      } catch (error) {
        if (error instanceof ApiError && error.status === 401) return null
        throw error
      }
    },
  })
  return {
    query,
    async signIn(email: string, password: string) {
      const { user } = await api.request('POST /session', { body: { email, password } })
      queries.setQueryData(queryKeys.visitor, user)
    },
    async signOut() {
      await api.request('DELETE /session', {})
      queries.setQueryData(queryKeys.visitor, null)
    },
  }
}
