import { useQuery } from '@tanstack/react-query'
import { queryKeys } from '../api/queries.ts'
import { useApi } from '../api/services.ts'
import { usePipelineNames } from './pipeline-names.ts'
import { runTitle } from './run-title.ts'

/** For a run of which only the id is known. */
export function useRunTitle(id: number): string {
  const api = useApi()
  const { data } = useQuery({
    queryKey: queryKeys.action(id),
    staleTime: 60_000,
    queryFn: ({ signal }) => api.get('/actions/{action_id}', { params: { path: { action_id: id } }, signal }),
  })
  const names = usePipelineNames(data ? [data.pipeline_id] : [])
  return runTitle(data && names.get(data.pipeline_id), id)
}
