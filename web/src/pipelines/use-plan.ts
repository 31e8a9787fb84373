import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useApi } from '../api/services.ts'
import type { RunBody } from './run-wish.ts'

/** What a run would do; an error where it could not run. */
export function usePlan(pipelineId: number, body: RunBody, isWanted = true) {
  const api = useApi()
  // A plan depends on where and what, not on what is said about it.
  const { trigger_comment: _, ...asked } = body
  return useQuery({
    queryKey: ['plan', pipelineId, asked],
    enabled: isWanted,
    placeholderData: keepPreviousData,
    retry: false,
    queryFn: ({ signal }) =>
      api.ask('POST /pipelines/{id}/plan', { path: { id: pipelineId }, body: asked, signal }),
  })
}
