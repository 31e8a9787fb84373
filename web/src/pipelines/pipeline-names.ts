import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { queryKeys } from '../api/queries.ts'
import { useApi } from '../api/services.ts'

const NO_NAMES: ReadonlyMap<number, string> = new Map()
/** What the API takes at once. */
const MAX_IDS = 100

/** The names of these pipelines by id, in one request; without those that the person may not see. */
export function usePipelineNames(ids: number[]): ReadonlyMap<number, string> {
  const api = useApi()
  const distinct = [...new Set(ids)]
    .sort((one, other) => one - other)
    .slice(0, MAX_IDS)
    .join(',')
  const { data } = useQuery({
    queryKey: queryKeys.pipelineNames(distinct),
    staleTime: 60_000,
    enabled: distinct !== '',
    placeholderData: keepPreviousData,
    queryFn: async ({ signal }) => {
      const query = { type: 'pipeline', 'filter[id]': distinct, per_page: MAX_IDS }
      const entries = await api.get('/names', { params: { query }, signal })
      return new Map(entries.map(({ id, name }) => [Number(id), name]))
    },
  })
  return data ?? NO_NAMES
}
