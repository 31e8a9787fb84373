// The pipelines room: what pages read of a pipeline.
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { queryKeys, useApi, useGet, useRefetch } from '#web/base/api/queries.ts'
import type { RunBody } from '#web/base/api/types.ts'

const CACHED = { staleTime: 30_000 }

export function usePipeline(id: string | number) {
  return useGet(queryKeys.pipeline(id), '/pipelines/{id}', {
    params: { path: { id: id as number } },
    ...CACHED,
  })
}

export function hooksQuery(api: ReturnType<typeof useApi>, pipelineId: number) {
  return {
    queryKey: queryKeys.hooks(pipelineId),
    queryFn: ({ signal }: { signal: AbortSignal }) =>
      api.all('/pipelines/{id}/hooks', { params: { path: { id: pipelineId } }, signal }),
  }
}

/** What a run would do; an error where it could not run. */
export function usePlan(pipelineId: number, body: RunBody, enabled = true) {
  const api = useApi()
  // A plan does not depend on the comment.
  const { trigger_comment: _, ...planned } = body
  return useQuery({
    queryKey: queryKeys.plan(pipelineId, planned),
    enabled,
    // What it would wait for changes all the time.
    staleTime: 0,
    placeholderData: keepPreviousData,
    retry: false,
    queryFn: ({ signal }) =>
      api.post('/pipelines/{id}/plan', { params: { path: { id: pipelineId } }, body: planned, signal }),
  })
}

/** What a deploy would ship to each server. It may take seconds: the API asks the git host for the newest commit. */
export function useShipping(pipelineId: number, body: RunBody, enabled: boolean) {
  const api = useApi()
  const { trigger_comment: _, variables: __, ...planned } = body
  return useQuery({
    queryKey: queryKeys.plan(pipelineId, planned, 'changes'),
    enabled,
    retry: false,
    queryFn: async ({ signal }) => {
      const params = { path: { id: pipelineId }, query: { include: 'changes' as const } }
      return (await api.post('/pipelines/{id}/plan', { params, body: planned, signal })).comparisons
    },
  })
}

/** Where pages list pipelines. */
export function useRefreshPipelines(): () => void {
  const refetch = useRefetch()
  return () => void refetch(queryKeys.environmentPipelines(), ['pipelines'])
}

/** The pipeline, its steps and its plan, also where other pages list them. */
export function useRefreshPipeline(id: number): () => void {
  const refetch = useRefetch()
  const refreshLists = useRefreshPipelines()
  return () => {
    void refetch(queryKeys.pipeline(id), queryKeys.plan(id))
    refreshLists()
  }
}
