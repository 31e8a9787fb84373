import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { useApi, useServices } from '../api/services.ts'

const KEY = ['running-count']
const ASK_AT_MOST_EVERY_MS = 3_000

/** How many actions run now. */
export function useRunningCount(): number {
  const api = useApi()
  const { data } = useQuery({
    queryKey: KEY,
    queryFn: async ({ signal }) => {
      const query = { 'filter[status]': 'in-progress', per_page: 1 }
      const { total } = await api.askPage('GET /actions', { query, signal })
      return Number.parseInt(total, 10) || 0
    },
  })
  return data ?? 0
}

/** Keeps the count current; used once, by the shell. */
export function useRunningCountUpdates(): void {
  const { moves } = useServices()
  const queries = useQueryClient()
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    const renew = () => {
      timer ??= setTimeout(() => {
        timer = undefined
        void queries.invalidateQueries({ queryKey: KEY })
      }, ASK_AT_MOST_EVERY_MS)
    }
    const leave = moves.listen({ onMoves: renew, onGap: renew })
    return () => {
      clearTimeout(timer)
      leave()
    }
  }, [moves, queries])
}
