// Who is signed in, on pages that also people see who are not.
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { GantryError } from '#client/index.ts'
import { queryKeys, useApi } from '#web/base/api/queries.ts'
import type { SessionUser } from '#web/base/session/session.ts'

export function useVisitor() {
  const api = useApi()
  const queries = useQueryClient()
  const query = useQuery({
    queryKey: queryKeys.visitor,
    queryFn: async ({ signal }): Promise<SessionUser | null> => {
      try {
        return (await api.get('/session', { signal })).user
      } catch (error) {
        if (error instanceof GantryError && error.status === 401) return null
        throw error
      }
    },
  })
  return {
    query,
    async signIn(email: string, password: string) {
      const { user } = await api.post('/session', { body: { email, password } })
      queries.setQueryData(queryKeys.visitor, user)
    },
    async signOut() {
      await api.delete('/session')
      queries.setQueryData(queryKeys.visitor, null)
    },
  }
}
